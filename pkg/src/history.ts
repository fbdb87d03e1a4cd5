/** Histories: any shape in, the provider's own message list out. */
import { answer, call, core, encode, type Core } from './core.js'
import { TurnlockError } from './errors.js'
import { onceFreed, stringify } from './pure.js'
import { readTape, writeTape, type Kept, type Tape } from './tape.js'
import type { Dialect, Repair, Violation } from './types.js'

/** How to normalize. */
export interface HistoryOptions {
  /** The provider. */
  dialect: Dialect
  /**
   * `reconstruct` (default): everything, as valid messages. `thread`: the provider keeps the
   * thread, so only what it lacks is sent, and never tool messages. `text_only`: only what people
   * and the model said.
   */
  strategy?: 'reconstruct' | 'thread' | 'text_only'
  /** Needed for `thread`: from it the thread's id is made. Never a run's id. */
  conversationId?: string
  /** `thread`: how many elements the thread has. Default: all up to the assistant's last answer. */
  seen?: number
  /** Names of the tools that the request declares. Default: those that the history needs. */
  tools?: string[]
  /** Whether the model continues an assistant message at the end. Default false. */
  prefill?: boolean
  /** Anthropic's newer models: system messages within the conversation. Default false. */
  systemAnywhere?: boolean
  /** DeepSeek: which messages carry `reasoning_content` back. Default `tool_calls`. */
  reasoning?: 'never' | 'tool_calls' | 'always'
  /** Gemini 3: calls without a thought signature get its placeholder. Default `auto`. */
  thoughtSignatures?: 'auto' | 'always' | 'never'
}

/** A history as a provider takes it. */
export interface NormalizedHistory {
  /** The provider's wire shape: `messages`, or `input` (Responses), or `contents` (Gemini). */
  messages: unknown[]
  /** Where the provider has it apart: Anthropic, Bedrock `system`, Gemini `systemInstruction`. */
  system?: unknown
  /** Bedrock, with `tools: []` and calls in the history: the `toolConfig` that it asks for. */
  toolConfig?: unknown
  /** With `strategy: "thread"`. */
  threadId?: string
  /** Every change that was made, in the order of the elements. */
  repairs: Repair[]
}

/**
 * A history in the provider's own shape, strictly valid.
 *
 * @param history any mix of UI events, core messages, AI SDK, LangChain, OpenAI, Anthropic,
 * Gemini and Bedrock shapes; never changed
 * @throws TurnlockError `message.unknown_shape` (`details.index`), `dialect.unknown`,
 * `options.invalid`, `json.not_serializable`, `json.too_deep`, `json.too_large` (over 64 MiB)
 */
export function normalize(history: readonly unknown[], options: HistoryOptions): NormalizedHistory {
  return ask('history_normalize', history, options) as NormalizedHistory
}

/**
 * What a provider would refuse of these messages as they are; `[]` if it takes their structure.
 *
 * @throws TurnlockError as {@link normalize}
 */
export function diagnose(messages: readonly unknown[], options: HistoryOptions): Violation[] {
  return ask('history_diagnose', messages, options) as Violation[]
}

/** Asks the core about a whole history. */
function ask(
  what: 'history_normalize' | 'history_diagnose',
  history: readonly unknown[],
  options: HistoryOptions,
): unknown {
  const given = encode(stringify(asked(options)))
  const kept: Kept = []
  const { numbers, text } = tape(history, kept, options)
  return told(
    call(core(), (glue) => glue[what](given, numbers, encode(text))),
    kept,
  )
}

/** A history that grows: only its end is looked at again. */
export interface GrowingHistory {
  /**
   * Takes the next elements. Long texts, and plain objects of arguments and results, are kept and
   * not copied: what the host changes in them later is changed in later requests.
   *
   * @throws TurnlockError as {@link normalize}. Those before one of an unknown shape are taken; none
   * is if one has no JSON.
   */
  append(...elements: unknown[]): void
  /**
   * The history as the provider takes it, so far. `messages` is one list that grows with the
   * history: it costs no copy, and is what the last request says.
   */
  request(): NormalizedHistory
  /** Gives the core's memory back; done by the garbage collector otherwise. */
  free(): void
}

interface Update {
  keep: number
  messages: unknown[]
  system?: unknown
  toolConfig?: unknown
  read: Repair[]
  keepArranged: number
  arranged: Repair[]
  end: Repair[]
}

/**
 * The incremental form of {@link normalize}, for chat pages and proxies.
 *
 * @example
 * const history = openHistory({ dialect: 'anthropic' })
 * history.append({ role: 'user', content: 'hi' })
 * const { messages, system, repairs } = history.request()
 *
 * @throws TurnlockError `dialect.unknown`, `options.invalid`
 */
export function openHistory(options: HistoryOptions): GrowingHistory {
  const on: Core = core()
  const given = encode(stringify(asked(options)))
  const handle = Number(answer(call(on, (glue) => glue.history_new(given))))
  const thread =
    options.strategy === 'thread' ? { threadId: threadId(options.conversationId ?? '') } : {}
  const messages: unknown[] = []
  const read: Repair[] = []
  const arranged: Repair[] = []
  let live = true
  const free = () => {
    live = false
    call(on, (glue) => glue.history_free(handle))
  }
  const kept: Kept = []
  const use = <T>(work: (glue: Core['glue']) => T): T => {
    if (!live) throw new TurnlockError('core.stale_handle', 'the history was freed')
    return call(on, work)
  }
  const history: GrowingHistory = {
    append(...elements) {
      const { numbers, text } = tape(elements, kept, options)
      answer(use((glue) => glue.history_append(handle, numbers, encode(text))))
    },
    request() {
      const update = told(
        use((glue) => glue.history_update(handle)),
        kept,
      ) as Update
      replace(messages, update.keep, update.messages)
      replace(arranged, update.keepArranged, update.arranged)
      replace(read, read.length, update.read)
      const [upTo, here, end] = [read.length, arranged.slice(), update.end]
      return {
        messages,
        ...('system' in update && { system: update.system }),
        ...('toolConfig' in update && { toolConfig: update.toolConfig }),
        ...thread,
        get repairs() {
          const all = [...read.slice(0, upTo), ...here, ...end]
          return all.sort((a, b) => a.index - b.index)
        },
      }
    },
    free,
  }
  onceFreed(history, () => call(on, (glue) => glue.history_free(handle)))
  return history
}

function replace(all: unknown[], from: number, items: readonly unknown[]): void {
  all.length = from
  for (const item of items) all.push(item)
}

/**
 * The id of a conversation's thread: the same in every run, another for every conversation and
 * namespace. A UUID (version 8).
 *
 * @param conversationId the conversation's id, never a run's
 * @param namespace parts those who share ids, such as tenants
 * @throws TurnlockError `options.invalid` for an empty id
 */
export function threadId(conversationId: string, namespace = ''): string {
  const [id, space] = [encode(String(conversationId)), encode(String(namespace))]
  return answer(call(core(), (glue) => glue.thread_id(id, space)))
}

/**
 * The codes of the rules that a provider's refusal is about, such as `TOOL_RESULT_ORPHAN`; none
 * if it is not about the history.
 */
export function explainRefusal(refusal: string): string[] {
  const bytes = encode(String(refusal))
  return JSON.parse(answer(call(core(), (glue) => glue.explain_refusal(bytes)))) as string[]
}

function asked(options: HistoryOptions): HistoryOptions {
  if (typeof options !== 'object' || (options as unknown) === null) {
    throw new TurnlockError('options.invalid', '`options`: expected an object with a dialect')
  }
  return options
}

function tape(elements: readonly unknown[], kept: Kept, options: HistoryOptions): Tape {
  if (!Array.isArray(elements)) {
    throw new TurnlockError('options.invalid', '`history`: expected a list')
  }
  return writeTape(elements, kept, options.prefill === true)
}

function told(bytes: Uint8Array, kept: Kept): unknown {
  const told = readTape(bytes, kept)
  return 'error' in told ? answer(told.error) : told.value
}
