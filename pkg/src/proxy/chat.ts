/** OpenAI's Chat Completions. */
import { isSaid, resultText, type PastCall } from './judge.js'
import { list, object, text, type Members } from './json.js'
import {
  INTERRUPTED,
  lastInRow,
  type Keyed,
  type Step,
  type StreamWire,
  type Wire,
} from './wire.js'

/** The name and the arguments of a call: of a function, or of a custom tool. */
function callOf(call: Members): { name: string; args: string } {
  const [called, custom] = [object(call.function), object(call.custom)]
  return { name: text(called.name ?? custom.name), args: text(called.arguments ?? custom.input) }
}

function turn(history: readonly unknown[]): PastCall[] {
  let calls = new Map<string, PastCall>()
  let earlier: PastCall[] = []
  for (const message of history.map(object)) {
    const { role, content } = message
    if (role === 'user' && saysSomething(content)) [calls, earlier] = [new Map(), []]
    for (const call of list(message.tool_calls).map(object)) {
      const made: PastCall = { ...callOf(call), result: undefined }
      calls.set(text(call.id), made)
      earlier.push(made)
    }
    const called = role === 'tool' ? calls.get(text(message.tool_call_id)) : undefined
    if (called) called.result = resultText(content)
  }
  return earlier
}

/** Pictures and sounds are the user's words too. */
export const saysSomething = (content: unknown): boolean =>
  typeof content === 'string'
    ? isSaid(content)
    : list(content).some((part) => {
        const { type, text: said } = object(part)
        return /text$/.test(text(type)) ? isSaid(said) : true
      })

interface Open extends Keyed {
  index: number
}

class ChatStream implements StreamWire {
  #open = new Map<string, Open>()
  #head: Members | undefined
  #kept = new Map<string, number>()
  #second = false

  matters(frames: string): boolean {
    return (
      frames.includes('"tool_calls"') ||
      frames.includes('"usage":{') ||
      frames.includes('"usage": {') ||
      (this.#open.size > 0 && frames.includes('finish_reason'))
    )
  }

  read(json: Members): Step {
    this.#head ??= json
    const step: Step = {}
    if (typeof json.usage === 'object' && json.usage !== null) step.usage = json.usage
    const choices = list(json.choices).map(object)
    for (const choice of choices) {
      const delta = object(choice.delta)
      if (text(delta.content) || text(delta.refusal)) step.text = true
      for (const piece of list(delta.tool_calls).map(object)) this.#piece(choice, piece)
      if (text(choice.finish_reason)) {
        step.finish = true
        step.complete = [...this.#open.values()]
        this.#open.clear()
      }
    }
    step.open = this.#open.size > 0
    return step
  }

  #piece(choice: Members, piece: Members): void {
    const key = keyOf(choice, piece)
    const { name, args } = callOf(piece)
    const open = this.#open.get(key)
    if (open) {
      open.name ||= name
      open.args += args
    } else this.#open.set(key, { key, name, args, index: Number(piece.index ?? 0) })
  }

  rewrite(json: Members, refused: ReadonlySet<string>): Members[] {
    const choices = list(json.choices).map(object)
    if (!choices.length) return [this.#named(json)]
    const kept = choices.flatMap((choice) => {
      const { tool_calls: pieces, ...rest } = object(choice.delta)
      const left = list(pieces)
        .map(object)
        .filter((piece) => !refused.has(keyOf(choice, piece)) && !refused.has('*'))
      const calls = left.map((piece) => ({ ...piece, index: this.#place(choice, piece) }))
      const delta = calls.length ? { ...rest, tool_calls: calls } : rest
      // A frame that was nothing but pieces of refused calls.
      const empty = Object.values(delta).every((value) => value === null || value === '')
      if (list(pieces).length && empty && !text(choice.finish_reason)) return []
      return [{ ...choice, delta }]
    })
    return kept.length ? [this.#named({ ...json, choices: kept })] : []
  }

  #place(choice: Members, piece: Members): number {
    const key = keyOf(choice, piece)
    const place = this.#kept.get(key) ?? this.#kept.size
    this.#kept.set(key, place)
    return place
  }

  /** All chunks of a response have one id. */
  #named(json: Members): Members {
    if (!this.#second || !this.#head) return json
    const { id, created } = this.#head
    return { ...json, id, created }
  }

  passed(json: Members): void {
    for (const choice of list(json.choices).map(object)) {
      for (const piece of list(object(choice.delta).tool_calls).map(object)) {
        this.#place(choice, piece)
      }
    }
  }

  beforeEnd(json: Members, refused: ReadonlySet<string>): Members[] {
    const choices = list(json.choices).map((choice) => ({ ...object(choice), finish_reason: null }))
    return this.rewrite({ ...json, choices }, refused).filter(({ choices: left }) =>
      list(left).some((choice) => text(object(object(choice).delta).content)),
    )
  }

  keep(): void {
    // Every chunk stands for itself.
  }

  again(): void {
    this.#second = true
    this.#open.clear()
  }

  say(said: string): Members[] {
    return [this.#chunk({ delta: { content: said }, finish_reason: null })]
  }

  #chunk(choice: Members): Members {
    const { id, created, model, object: kind } = this.#head ?? {}
    return {
      ...{ id: id ?? 'chatcmpl-turnlock', object: kind ?? 'chat.completion.chunk' },
      ...{ created: created ?? 0, model: model ?? '', choices: [{ index: 0, ...choice }] },
    }
  }

  finish(json: Members): Members[] {
    const choices = list(json.choices).map(object)
    if (!choices.length) return [this.#named(json)]
    const ended = choices.map((choice) => ({
      ...choice,
      finish_reason: endOf(choice.finish_reason),
    }))
    return [this.#named({ ...json, choices: ended })]
  }

  isLast(): boolean {
    return false
  }
}

/** A response without calls has not ended with calls. */
const endOf = (reason: unknown) =>
  reason === 'tool_calls' || reason === 'function_call' ? 'stop' : reason

/** Of `0` where a provider leaves the index out. */
const keyOf = (choice: Members, piece: Members): string =>
  `${String(choice.index ?? 0)}:${String(piece.index ?? text(piece.id))}`

export const chat: Wire = {
  name: 'chat',
  dialect: 'openai-chat',
  history: 'messages',
  noTools: '"none"',
  isWhole: () => true,
  orphans: () => [],
  mend(elements, history, { code, index, toolCallId }) {
    if (code === 'TOOL_RESULT_ORPHAN') return elements.set(index, [])
    const last = lastInRow(history, index, (message) => object(message).role === 'tool')
    const made = { role: 'tool', tool_call_id: toolCallId, content: INTERRUPTED }
    elements.add(last, JSON.stringify(made))
  },
  turn,
  stream: () => new ChatStream(),
  write: (json) => `data: ${JSON.stringify(json)}\n\n`,
  ping: ': keep-alive\n\n',
  calls: (json) =>
    list(json.choices)
      .map(object)
      .flatMap((choice, at) =>
        list(object(choice.message).tool_calls)
          .map(object)
          .map((call, place) => ({ key: `${at}:${place}`, ...callOf(call) })),
      ),
  without: (json, refused, notice) => ({
    ...json,
    choices: list(json.choices)
      .map(object)
      .map((choice, at) => {
        const { tool_calls: all, ...message } = object(choice.message)
        const calls = list(all).filter((_, place) => !refused.has(`${at}:${place}`))
        if (calls.length) return { ...choice, message: { ...message, tool_calls: calls } }
        const content = text(message.content) || notice
        const finish_reason = endOf(choice.finish_reason)
        return { ...choice, message: { ...message, content }, finish_reason }
      }),
  }),
  failure(code, message) {
    const error = { message, type: 'api_error', code, param: null }
    return `data: ${JSON.stringify({ error })}\n\ndata: [DONE]\n\n`
  },
}
