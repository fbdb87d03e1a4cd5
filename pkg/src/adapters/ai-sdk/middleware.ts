/** Repair, the guard of calls and the two stages, for those who stay with the AI SDK's own loop. */
import { wrong } from '../../errors.js'
import { AI_SDK_MIDDLEWARE_OPTIONS } from '../../generated/rows.js'
import type { AiSdkMiddlewareOptions } from '../../generated/adapters.js'
import { guardLimit, GuardMachine } from '../../guard/machine.js'
import { readOptions } from '../../options.js'
import { quietly } from '../../shared/quietly.js'
import {
  repairPrompt,
  resultPart,
  signatureOf,
  turnOf,
  type Message,
  type Part,
  type PromptRepair,
} from './prompt.js'

export type { AiSdkMiddlewareOptions }

/** What the middleware did in one call of the model. */
export interface MiddlewareReport {
  /** The changes to the history. */
  repairs: PromptRepair[]
  /** The calls that were not let through. */
  refused: { toolCallId: string; toolName: string; reason: 'duplicate' | 'budget' }[]
  /** Whether the model was told to answer. */
  answerPhase: boolean
}

/** Parameters of a model, of LanguageModelV2, V3 and V4. */
interface Params {
  prompt: Message[]
  toolChoice?: unknown
}

interface Generated {
  content: unknown[]
  finishReason?: unknown
  usage?: unknown
}

interface Streamed {
  stream: ReadableStream<unknown>
}

/**
 * What `wrapLanguageModel` of `ai` takes. Parameters and models are `any`, as each version of it has
 * others.
 */
export interface TurnlockMiddleware {
  /** `v3` in AI SDK 6, `v4` in 7. */
  readonly specificationVersion: any
  transformParams(options: { params: any }): Promise<any>
  wrapGenerate(options: {
    doGenerate: () => PromiseLike<any>
    params: any
    model: any
  }): Promise<any>
  wrapStream(options: { doStream: () => PromiseLike<any>; params: any; model: any }): Promise<any>
}

interface Judging extends MiddlewareReport {
  /** Judges the calls of this turn. */
  machine: GuardMachine
  /** The notices of refused calls, by their id. */
  notices: Map<string, string>
  /** Keeps the signature of a call that may run. */
  keep(call: Part, signed: string): void
}

/**
 * How many calls' signatures a middleware keeps.
 *
 * Limit | calls whose signatures a middleware keeps | calls | the oldest is dropped
 */
const KEPT = 1000

/**
 * A middleware for `wrapLanguageModel`: repairs histories, lets a call through once in a user's turn
 * (by its signature) and `maxTools` calls in all, and then asks for the answer, with the tools kept
 * and `toolChoice` none. It looks at the history that the AI SDK sends. That has what a tool's schema
 * made of the arguments, so the signatures of the last 1 000 calls as the model wrote them are kept.
 *
 * A call that may not run is left out of the response. If no other call is left, the model is asked
 * again, with a notice as the result of that call, for its answer.
 *
 * @throws TurnlockError `options.invalid`
 * @example
 * const model = wrapLanguageModel({ model: openai('gpt-5-mini'), middleware: turnlockMiddleware() })
 * streamText({ model, tools, stopWhen: stepCountIs(8), messages })
 */
export function turnlockMiddleware(options: AiSdkMiddlewareOptions = {}): TurnlockMiddleware {
  options = readOptions(options, AI_SDK_MIDDLEWARE_OPTIONS)
  const { maxTools = 1, allow = [], repair = true } = options
  if (!Number.isSafeInteger(maxTools) || maxTools < 0) {
    throw wrong('maxTools', 'a whole number from 0')
  }
  const guard = {
    maxCalls: guardLimit(maxTools),
    perTool: Object.fromEntries(allow.map((name) => [name, { dedupe: 'allow' as const }])),
  }
  const repairs = new WeakMap<object, PromptRepair[]>()
  /** By the user's message, and the id and name of the call. */
  const noticeByCall = new Map<string, string>()
  const nameOf = (asked: string, { toolCallId, toolName }: Part) =>
    `${toolCallId} ${toolName} ${asked}`
  const judging = (params: Params): Judging => {
    const { calls, asked } = turnOf(params.prompt)
    const machine = new GuardMachine(guard)
    const past = calls.map((call) => {
      const signed = [signatureOf(call), noticeByCall.get(nameOf(asked, call))]
      const signatures = signed.filter((signature) => signature !== undefined)
      return { name: call.toolName ?? '', signatures, result: '' }
    })
    machine.record(past)
    const before = repairs.get(params) ?? []
    const keep = (call: Part, signature: string) => {
      noticeByCall.set(nameOf(asked, call), signature)
      for (const oldest of noticeByCall.keys()) {
        if (noticeByCall.size <= KEPT) break
        noticeByCall.delete(oldest)
      }
    }
    const notices = new Map<string, string>()
    return { repairs: before, refused: [], answerPhase: !machine.isOpen, machine, notices, keep }
  }
  const report = ({ repairs, refused, answerPhase, machine }: Judging) => {
    machine.free()
    quietly(() => options.onReport?.({ repairs, refused, answerPhase }))
  }
  return {
    specificationVersion: 'v4',
    async transformParams({ params }: { params: Params }) {
      const fixed = repair ? repairPrompt(params.prompt) : { prompt: params.prompt, repairs: [] }
      const spent = turnOf(fixed.prompt).calls.length >= maxTools
      const made = { ...params, prompt: fixed.prompt, ...(spent && ANSWER) }
      repairs.set(made, fixed.repairs)
      return made
    },
    async wrapGenerate({ doGenerate, params, model }) {
      const first = (await doGenerate()) as Generated
      const judge = judging(params as Params)
      const { kept, refused } = judged(first.content as Part[], judge)
      report(judge)
      if (refused.length === 0) return first
      if (kept.some(isCall)) return { ...first, content: kept }
      const answerParams = answering(params as Params, refused, judge)
      const second = (await (model as Model).doGenerate(answerParams)) as Generated
      const content = [...kept, ...second.content.filter((part) => !isCall(part as Part))]
      const ended = answered(second.finishReason)
      return { ...second, content, finishReason: ended, usage: sum(first.usage, second.usage) }
    },
    async wrapStream({ doStream, params, model }) {
      const first = (await doStream()) as Streamed
      const judge = judging(params as Params)
      const sources = new Sources()
      const again = async (refused: Part[]) => {
        const answerParams = answering(params as Params, refused, judge)
        return sources.read(((await (model as Model).doStream(answerParams)) as Streamed).stream)
      }
      const parts = filtered(sources.read(first.stream), judge, again, () => report(judge))
      return { ...first, stream: streamOf(parts, sources) }
    },
  }
}

/** The responses that a stream is made of: leaving it cancels the one that is read. */
class Sources {
  #reader: ReadableStreamDefaultReader<unknown> | undefined
  #isLeft = false

  async *read(stream: ReadableStream<unknown>): AsyncGenerator<Frame, void, undefined> {
    const reader = (this.#reader = stream.getReader())
    if (this.#isLeft) this.leave()
    try {
      for (;;) {
        const { done, value } = await reader.read()
        if (done) return
        yield value as Frame
      }
    } finally {
      reader.cancel().catch(() => {})
    }
  }

  leave(): void {
    this.#isLeft = true
    this.#reader?.cancel().catch(() => {})
  }
}

interface Model {
  doGenerate(params: Params): PromiseLike<unknown>
  doStream(params: Params): PromiseLike<unknown>
}

/** Tools stay declared, so that the provider's cache holds. */
const ANSWER = { toolChoice: { type: 'none' } }

const isCall = ({ type, providerExecuted }: Part) => type === 'tool-call' && !providerExecuted

/**
 * Why a call may not run; `undefined` if it may. A call with invalid arguments counts too: the AI SDK
 * lets the host repair and run it.
 */
function refusalOf(call: Part, judge: Judging) {
  const signed = signatureOf(call)
  const { toolCallId = '', toolName = '' } = call
  const signatures = signed === undefined ? [] : [signed]
  const { action, reason, notice = '' } = judge.machine.judge({ name: toolName, signatures })
  if (action === 'run') {
    if (signed !== undefined) judge.keep(call, signed)
    return undefined
  }
  judge.notices.set(toolCallId, notice)
  judge.refused.push({ toolCallId, toolName, reason: reason as 'duplicate' | 'budget' })
  return reason
}

function judged(content: Part[], judge: Judging) {
  const refused: Part[] = []
  const allowed = content.filter((part) => {
    if (!isCall(part) || !refusalOf(part, judge)) return true
    refused.push(part)
    return false
  })
  return { kept: allowed, refused }
}

/** The request for the answer: the refused calls are in its history, with notices as results. */
function answering(params: Params, refused: Part[], judge: Judging): Params {
  const content = refused.map(({ toolCallId, toolName, input }) => ({
    type: 'tool-call',
    toolCallId,
    toolName,
    input: typeof input === 'string' ? parsed(input) : input,
  }))
  const results = refused.map((call) =>
    resultPart(call, judge.notices.get(call.toolCallId ?? '') ?? ''),
  )
  const prompt = [
    ...params.prompt,
    { role: 'assistant', content },
    { role: 'tool', content: results },
  ]
  return { ...params, ...ANSWER, prompt }
}

/** The arguments of a call; none if they are not valid. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** The finish reason of an answer, whose calls are left out. */
function answered(reason: unknown): unknown {
  if (reason === 'tool-calls') return 'stop'
  const { unified } = Object(reason) as { unified?: unknown }
  return unified === 'tool-calls' ? { ...(reason as object), unified: 'stop' } : reason
}

/** A part of a stream. */
interface Frame extends Part {
  id?: string
  usage?: unknown
  finishReason?: unknown
}

/**
 * The parts of a response without the calls that may not run. Parts of a call are held back until it
 * is judged; everything else passes.
 */
async function* filtered(
  stream: AsyncIterable<Frame>,
  judge: Judging,
  again: (refused: Part[]) => Promise<AsyncIterable<Frame>>,
  report: () => void,
): AsyncGenerator<Frame, void, undefined> {
  const heldFrames = new Map<string, Frame[]>()
  const refused: Part[] = []
  let allowed = 0
  let usage: unknown
  try {
    for await (const frame of stream) {
      const { type, id = '' } = frame
      if (type === 'tool-input-start' && !frame.providerExecuted) heldFrames.set(id, [frame])
      else if (heldFrames.has(id) && /^tool-input-(delta|end)$/.test(type))
        heldFrames.get(id)?.push(frame)
      else if (isCall(frame)) {
        const parts = heldFrames.get(frame.toolCallId ?? '') ?? []
        heldFrames.delete(frame.toolCallId ?? '')
        if (refusalOf(frame, judge)) refused.push(frame)
        else {
          allowed += 1
          yield* parts
          yield frame
        }
      } else if (type === 'finish' && refused.length > 0 && allowed === 0) {
        usage = frame.usage
        break
      } else {
        if (type === 'finish') for (const parts of heldFrames.values()) yield* parts
        yield frame
      }
    }
  } finally {
    // Once a request, also if the response fails or ends early.
    report()
  }
  if (usage !== undefined) yield* answer(await again(refused), usage)
}

/** The parts of the answer, behind those of the first response. */
async function* answer(stream: AsyncIterable<Frame>, before: unknown) {
  for await (const frame of stream) {
    if (frame.type === 'stream-start' || isCall(frame) || frame.type.startsWith('tool-input-'))
      continue
    // Two responses may both begin with the id 0.
    const idMember = /^(text|reasoning)-/.test(frame.type) ? { id: `answer-${frame.id}` } : {}
    const last = frame.type === 'finish' && {
      usage: sum(before, frame.usage),
      finishReason: answered(frame.finishReason),
    }
    yield { ...frame, ...idMember, ...last }
  }
}

function streamOf<T>(
  parts: AsyncGenerator<T, void, undefined>,
  sources: Sources,
): ReadableStream<T> {
  return new ReadableStream<T>({
    async pull(controller) {
      const { done, value } = await parts.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    // The generator may wait for a part: returning from it would wait too.
    cancel: () => {
      sources.leave()
      parts.return().catch(() => {})
    },
  })
}

/** The usage of both responses: numbers are added, in whatever places a version has them. */
function sum(a: unknown, b: unknown): unknown {
  if (typeof a === 'number' && typeof b === 'number') return a + b
  if (typeof a !== 'object' || typeof b !== 'object' || !a || !b) return b ?? a
  const [one, other] = [a as Record<string, unknown>, b as Record<string, unknown>]
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return Object.fromEntries(
    [...names].map((name) => [name, name === 'raw' ? other[name] : sum(one[name], other[name])]),
  )
}
