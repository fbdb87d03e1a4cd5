/** Histories: converts messages of any shape into the provider's own message list. */
import { isObject } from '../checks.js'
import type { HistoryGlue } from '../core/glue.js'
import { answer, encode } from '../core/instance.js'
import { history as part } from '../core/parts/history.js'
import { isTurnlockError, TurnlockError, wrong } from '../errors.js'
import type { HistoryCode, Repair } from '../generated/common.js'
import type {
  HistoryOptions,
  HistoryUpdate,
  NormalizedHistory,
  Violation,
} from '../generated/history.js'
import { HISTORY_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import { onceFreed } from '../shared/finalize.js'
import { explained } from './shape.js'
import { readTape, writeTape, type Kept, type Tape } from './tape.js'
import { stringify } from '../shared/text.js'

export type { HistoryOptions, NormalizedHistory }

/**
 * Converts a history into the provider's own shape, strictly valid.
 *
 * @param history any mix of UI events, core messages, AI SDK, LangChain, OpenAI, Anthropic,
 * Gemini and Bedrock shapes; never changed
 * @throws TurnlockError `message.unknown_shape` (`details.index`), `dialect.unknown`,
 * `options.invalid`, `json.not_serializable`, `json.too_deep`, `json.too_large` (over 64 MiB)
 */
export function normalizeHistory(
  history: readonly unknown[],
  options: HistoryOptions,
): NormalizedHistory {
  return ask('history_normalize', history, options) as NormalizedHistory
}

/**
 * Lists what a provider would reject in these messages; `[]` if it accepts their structure.
 *
 * @throws TurnlockError as {@link normalizeHistory}
 */
export function diagnoseHistory(
  messages: readonly unknown[],
  options: HistoryOptions,
): Violation[] {
  return ask('history_diagnose', messages, options) as Violation[]
}

/** Calls the core with a whole history. */
function ask(
  what: 'history_normalize' | 'history_diagnose',
  history: readonly unknown[],
  options: HistoryOptions,
): unknown {
  const given = encode(stringify(asked(options)))
  const kept: Kept = []
  const { numbers, text } = tape(history, kept, options)
  const made = part.call((glue) => glue[what](given, numbers, encode(text)))
  try {
    return told(made, kept)
  } catch (error) {
    throw described(error, history)
  }
}

/** An error that names an element by its place describes it, too. */
function described(error: unknown, elements: readonly unknown[], from = 0): unknown {
  if (!isTurnlockError(error) || error.code !== 'message.unknown_shape') return error
  return new TurnlockError(error.code, explained(error.message, elements, from), error.details)
}

/** A history that grows. Only its end is processed again. */
export interface GrowingHistory {
  /**
   * Appends elements. Long texts, and plain objects of arguments and results, are stored by
   * reference: later changes to them change later requests.
   *
   * @throws TurnlockError as {@link normalizeHistory}. Elements before one of an unknown shape are
   * appended. If one has no JSON form, none is appended.
   */
  append(...elements: unknown[]): void
  /**
   * The history so far, in the provider's format. `messages` is one list that is updated in place
   * without a copy, and so are the lists of parts of its last message and of the system prompt; so
   * it always has the content of the last request. The time is linear in what changed since then:
   * the new elements, and of a message whose calls have no results yet, or of a text that arrives
   * in pieces, the whole message.
   */
  request(): NormalizedHistory
  /** Frees the core's memory. Otherwise this happens at garbage collection. */
  free(): void
}

/**
 * The incremental form of {@link normalizeHistory}, for chat pages and proxies.
 *
 * @example
 * const history = openHistory({ dialect: 'anthropic' })
 * history.append({ role: 'user', content: 'hi' })
 * const { messages, system, repairs } = history.request()
 *
 * @throws TurnlockError `dialect.unknown`, `options.invalid`
 */
export function openHistory(options: HistoryOptions): GrowingHistory {
  const on = part.core()
  const given = encode(stringify(asked(options)))
  const handle = Number(answer(part.callOn(on, (glue) => glue.history_new(given))))
  const thread =
    options.strategy === 'thread' ? { threadId: threadId(options.conversationId ?? '') } : {}
  const messages: unknown[] = []
  let system: unknown
  const read: Repair[] = []
  const arranged: Repair[] = []
  let live = true
  /** How many elements were appended. */
  let size = 0
  const kept: Kept = []
  const use = <T>(work: (glue: HistoryGlue) => T): T => {
    if (!live) throw new TurnlockError('core.stale_handle', 'the history was freed')
    return part.callOn(on, work)
  }
  const history: GrowingHistory = {
    append(...elements) {
      const { numbers, text } = tape(elements, kept, options)
      const made = use((glue) => glue.history_append(handle, numbers, encode(text)))
      try {
        answer(made)
        size += elements.length
      } catch (error) {
        const told = described(error, elements, size)
        // Those before the one that was refused are there.
        size = Number((error as TurnlockError).details?.['index'] ?? size)
        throw told
      }
    },
    request() {
      const update = told(
        use((glue) => glue.history_update(handle)),
        kept,
      ) as HistoryUpdate
      const grown = messages[update.keep]
      replace(messages, update.keep, update.messages)
      if (update.grows) grow(messages, update.keep, grown, update.grows)
      system = instructed(system, update)
      replace(arranged, update.keepArranged, update.arranged)
      replace(read, read.length, update.read)
      const [upTo, here, end] = [read.length, arranged.slice(), update.end]
      return {
        messages,
        ...(system !== undefined && { system }),
        ...('toolConfig' in update && { toolConfig: update.toolConfig }),
        ...thread,
        get repairs() {
          const all = [...read.slice(0, upTo), ...here, ...end]
          return all.sort((a, b) => a.index - b.index)
        },
      }
    },
    free() {
      live = false
      free()
    },
  }
  const free = onceFreed(history, part, on, (glue) => glue.history_free(handle))
  return history
}

function replace(all: unknown[], from: number, items: readonly unknown[]): void {
  all.length = from
  for (const item of items) all.push(item)
}

/** The message at `at` has the parts or the text that were added; what it had before comes first. */
function grow(messages: unknown[], at: number, before: unknown, member: string): void {
  const now = messages[at] as Record<string, unknown>
  const [all, added] = [(before as typeof now)[member], now[member]]
  if (typeof added === 'string') {
    now[member] = String(all ?? '') + added
    return
  }
  const list = (all as unknown[] | undefined) ?? []
  replace(list, list.length, added as unknown[])
  now[member] = list
}

/** The system prompt: of the one before, the texts that an update keeps, and those that are new. */
function instructed(before: unknown, { system, keepSystem }: HistoryUpdate): unknown {
  if (!keepSystem) return system
  const list = (prompt: unknown) =>
    Array.isArray(prompt) ? (prompt as unknown[]) : (prompt as { parts: unknown[] }).parts
  replace(list(before), keepSystem, system === undefined ? [] : list(system))
  return before
}

/**
 * The id of a conversation's thread, a UUID (version 8). It is the same in every run and differs
 * between conversations and namespaces.
 *
 * @param conversationId the conversation's id, never a run's
 * @param namespace separates users with the same conversation ids, such as tenants
 * @throws TurnlockError `options.invalid` for an empty id
 */
export function threadId(conversationId: string, namespace = ''): string {
  // The text of what is none, such as `undefined`, would be one thread of all conversations.
  if (typeof conversationId !== 'string') throw wrong('conversationId', 'a string')
  const [id, space] = [encode(conversationId), encode(String(namespace))]
  return answer(part.call((glue) => glue.thread_id(id, space)))
}

/**
 * The codes of the rules that a provider's refusal refers to, such as `TOOL_RESULT_ORPHAN`; empty
 * if it is not about the history.
 */
export function explainProviderError(refusal: string): HistoryCode[] {
  const bytes = encode(String(refusal))
  return JSON.parse(
    answer(part.call((glue) => glue.explain_provider_error(bytes))),
  ) as HistoryCode[]
}

function asked(options: HistoryOptions): HistoryOptions {
  if (!isObject(options)) throw wrong('options', 'an object with a dialect')
  const own = readOptions(options, HISTORY_OPTIONS)
  // JSON makes null of NaN and Infinity, and null is the default.
  if (typeof own.seen === 'number' && !Number.isFinite(own.seen)) {
    throw wrong('seen', 'a whole number of at least 0')
  }
  return own
}

function tape(elements: readonly unknown[], kept: Kept, options: HistoryOptions): Tape {
  if (!Array.isArray(elements)) {
    throw wrong('history', 'a list')
  }
  return writeTape(elements, kept, options.prefill === true)
}

function told(bytes: Uint8Array, kept: Kept): unknown {
  const told = readTape(bytes, kept)
  return 'error' in told ? answer(told.error) : told.value
}
