/** The events of a turn as what its model said and its tools returned, so that it can run again. */
import { customModel, defineTool, signature, TurnlockError, type TurnEvent } from 'turnlock'
import type { RunTurnOptions, Tool } from 'turnlock'

type Of<T extends TurnEvent['type']> = Extract<TurnEvent, { type: T }>
type Result = Of<'tool_results'>['toolResults'][number]
type Call = Of<'tool_calls'>['toolCalls'][number]

/** What the model said in one request. */
interface Inference {
  reasoning: string
  text: string
  batch: number | undefined
  calls: Call[]
  /** Why calls of it were refused. */
  reasons: string[]
  isSettled: boolean
  /** It called nothing, and what it said was not shown. */
  isSilent?: boolean
}

const STATUSES = ['ok', 'error', 'timeout', 'blocked', 'skipped', 'unknown', 'cancelled']

/**
 * Checks the members that a replay reads: a file may have been edited or cut.
 *
 * @throws TurnlockError `command.usage`
 */
export function checkEvents(events: readonly TurnEvent[]): void {
  const isText = (value: unknown) => typeof value === 'string'
  for (const event of events) {
    const members = event as unknown as Record<string, unknown>
    const fail = (what: string): never => {
      throw new TurnlockError('command.usage', `event ${event.seq} (${event.type}): ${what}`)
    }
    const entries = (name: string) => {
      const list = members[name]
      const isCall = ({ name, signature }: Record<string, unknown>) =>
        isText(name) && (signature == null || isText(signature))
      const isList = Array.isArray(list) && list.every((one) => isCall(Object(one)))
      return isList
        ? (list as Record<string, unknown>[])
        : fail(`\`${name}\` must be a list of calls`)
    }
    const { projectId } = members
    if (projectId != null && !isText(projectId)) fail('`projectId` must be a text')
    switch (event.type) {
      case 'text':
      case 'reasoning':
        if (!isText(members['chunk'])) fail('`chunk` must be a text')
        break
      case 'tool_calls':
      case 'refused':
        if (!entries('toolCalls').every(({ id }) => isText(id)))
          fail('`id` of a call must be a text')
        break
      case 'tool_results': {
        const odd = entries('toolResults').find(({ status }) => !STATUSES.includes(String(status)))
        if (odd) fail(`\`status\` must be one of ${STATUSES.join(', ')}`)
      }
    }
  }
}

/** Whether the turn came to its answer. */
export const isWhole = (events: readonly TurnEvent[]): boolean => events.at(-1)?.type === 'complete'

/**
 * The last turn of a list of events, in order, each once, up to its end: what came behind a pause is
 * in it, without the text that a resume repeated.
 */
export function lastTurn(events: readonly TurnEvent[]): TurnEvent[] {
  const id = events.findLast(({ requestId }) => requestId)?.requestId
  const turnEvents = new Map(
    events.filter((one) => one.requestId === id).map((one) => [one.seq, one]),
  )
  const all = [...turnEvents.values()].sort((a, b) => a.seq - b.seq)
  const voided = all.flatMap((one) =>
    one.type === 'phase_start' && one.voidFrom != null ? [[one.voidFrom, one.seq] as const] : [],
  )
  const isVoid = ({ type, seq }: TurnEvent) =>
    (type === 'text' || type === 'reasoning') &&
    voided.some(([from, to]) => seq >= from && seq < to)
  // A phase that waits is not over.
  const waits = ({ type }: TurnEvent, at: number) =>
    type === 'phase_end' && all[at + 1]?.type === 'paused'
  return all.filter((one, at) => !isVoid(one) && !waits(one, at))
}

/** After calls that were all refused so, a turn asks no more. */
const FINAL = ['not_allowed', 'not_approved', 'budget']

/**
 * What the model said, request by request. `split`: calls that were refused behind the results of a
 * batch were another request's; events do not say it.
 */
function inferences(events: readonly TurnEvent[], split: boolean): Inference[] {
  const all: Inference[] = []
  const add = (batch?: number): Inference => {
    const next = { reasoning: '', text: '', batch, calls: [], reasons: [], isSettled: false }
    all.push(next)
    return next
  }
  const open = (batch?: number, mayAdd = true) => {
    const last = all.at(-1)
    // The calls of a request come behind its text, and name its batch.
    if (last && batch !== undefined && last.batch === undefined)
      return Object.assign(last, { batch })
    return last && last.batch === batch && !(mayAdd && last.isSettled) ? last : add(batch)
  }
  const last = events.at(-1)
  const composed = last?.type === 'complete' && last.composed ? events.at(-3) : undefined
  for (const event of events) {
    if (event.type === 'phase_start' && !event.resumed && all.length) add()
    // The answer that the turn made of its results is none of the model's.
    if (event.type === 'text' && event !== composed) open().text += event.chunk
    if (event.type === 'reasoning') open().reasoning += event.chunk
    if (event.type === 'tool_calls' || event.type === 'refused') {
      const inference = open(event.toolBatchId, split && event.type === 'refused')
      const isNew = ({ id }: Call) => !inference.calls.some((call) => call.id === id)
      inference.calls.push(...event.toolCalls.filter(isNew))
      if (event.type === 'refused') {
        inference.reasons.push(event.reason)
        inference.isSettled =
          inference.isSettled || inference.calls.length === event.toolCalls.length
      }
    }
    if (event.type === 'tool_results') {
      const inference = all.at(-1)
      if (inference) inference.isSettled = true
    }
    if (event.type === 'phase_end' && event.phase === 'tool_phase' && !event.ended) {
      // Its text behind calls is not shown: the next phase answers.
      const inference = all.at(-1)
      const isFinal =
        inference?.reasons.length && inference.reasons.every((why) => FINAL.includes(why))
      if (inference?.calls.length && !isFinal) add().isSilent = true
    }
  }
  return all.filter((one) => one.isSilent || one.text || one.reasoning || one.calls.length)
}

/** How long a tool without a result waits: a recorded turn may not end as its results say. */
const CANCELLED_MS = 5_000

/** The tools of the turn: each returns what it returned. */
function toolsOf(events: readonly TurnEvent[]): Record<string, Tool> {
  const of = <T extends TurnEvent['type']>(type: T) =>
    events.filter((event): event is Of<T> => event.type === type)
  const results = of('tool_results').flatMap(({ toolResults }) => toolResults)
  const refused = (reason: string) =>
    of('refused')
      .filter((one) => one.reason === reason)
      .flatMap(({ toolCalls }) => toolCalls)
  const invalid = new Set(refused('invalid_arguments').map((call) => call.signature))
  const unknown = new Set(refused('unknown_tool').map(({ name }) => name))
  const called = [...of('tool_calls'), ...of('refused')].flatMap(({ toolCalls }) => toolCalls)
  const names = new Set(called.map(({ name }) => name).filter((name) => !unknown.has(name)))
  const tool = (name: string) => {
    const toolResults = results.filter((one) => one.name === name)
    const ran = toolResults.filter(({ replayed, status }) => !replayed && status !== 'blocked')
    const twice = new Set(ran.map((one) => one.signature)).size < ran.length
    const dedupe = twice
      ? 'allow'
      : toolResults.some(({ replayed }) => replayed)
        ? 'replay'
        : 'block'
    const remaining = [...ran]
    const next = (args: unknown): Result | undefined => {
      const signed = signature({ tool: name, args, projectId: events[0]?.projectId ?? null })
      const at = remaining.findIndex((one) => one.signature === signed)
      return at < 0 ? undefined : remaining.splice(at, 1)[0]
    }
    return defineTool({
      description: 'Returns what it returned.',
      inputSchema: accepts((args) => {
        const projectId = events[0]?.projectId ?? null
        return !invalid.has(signature({ tool: name, args, projectId }))
      }),
      dedupe,
      // A tool that was too late waits for its limit, one that was cancelled for the end of the turn.
      timeoutMs: ran.some(({ status }) => status === 'timeout') ? 50 : CANCELLED_MS,
      async execute(args, { signal }) {
        const result = next(args)
        if (!result) throw new Error('the recorded turn has no such call')
        if (result.status === 'ok') return result.result
        if (result.status === 'error') throw new Error(result.error?.message)
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(new Error(result.status)))
        })
      },
    })
  }
  return Object.fromEntries([...names].map((name) => [name, tool(name)]))
}

const accepts = (test: (args: unknown) => boolean) => ({
  '~standard': {
    version: 1 as const,
    vendor: 'turnlock',
    jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
    validate: (value: unknown) =>
      test(value) ? { value } : { issues: [{ message: 'the recorded turn refused them' }] },
  },
})

/** What `runTurn` is given to play a turn again; `split` as above. */
export function again(events: readonly TurnEvent[], split: boolean): RunTurnOptions {
  const starts = events.filter((one): one is Of<'phase_start'> => one.type === 'phase_start')
  const fresh = starts.filter(({ resumed }) => !resumed)
  const most = (phase: string) =>
    Math.max(0, ...fresh.filter((one) => one.phase === phase).map(({ maxTools }) => maxTools ?? 0))
  const isUnified = starts.some(({ phase }) => phase === 'unified')
  const recorded = inferences(events, split)
  const stopped = events.some((one) => one.type === 'phase_end' && one.ended === 'max_steps')
  let at = 0
  const model = customModel(async function* (_, { signal }) {
    const inference = recorded[at++]
    if (!inference) {
      // Behind its end the turn asked nothing, or was given up while it waited.
      if (!isWhole(events))
        await new Promise((_, reject) => signal.addEventListener('abort', reject))
      return
    }
    if (inference.reasoning) yield { type: 'reasoning', text: inference.reasoning }
    if (inference.text) yield { type: 'text', text: inference.text }
    for (const [index, { id, name, args }] of inference.calls.entries()) {
      yield { type: 'tool_call_start', index, id, name }
      const text = typeof args === 'string' ? args : JSON.stringify(args)
      yield { type: 'tool_call_arguments', index, text }
      yield { type: 'tool_call_end', index }
    }
  })
  const cycles = fresh.filter(({ phase }) => phase === 'tool_phase').length
  return {
    model,
    tools: toolsOf(events),
    messages: [{ role: 'user', content: 'The turn again.' }],
    mode: isUnified ? 'unified' : 'two_stage',
    projectId: events[0]?.projectId ?? null,
    policy: isUnified
      ? { maxSteps: stopped ? recorded.length : Math.max(5, recorded.length + 1) }
      : {
          maxTools: most('tool_phase'),
          actionMaxTools: most('action_phase'),
          maxCycles: Math.max(1, cycles),
        },
  }
}

/**
 * What of a turn has to be the same when it runs again, a line each: texts joined, the calls and
 * results of a batch in their order of ids; without times, pauses and progress.
 */
export function outline(events: readonly TurnEvent[]): string[] {
  const lines: string[] = []
  const batch: { key: string; calls: string[]; rest: string[] } = { key: '', calls: [], rest: [] }
  let text: { phase: string; type: string; chunks: string } | undefined
  const flush = () => {
    if (text) lines.push(`${text.phase} ${text.type}: ${JSON.stringify(text.chunks)}`)
    lines.push(...batch.calls, ...batch.rest.sort())
    text = undefined
    Object.assign(batch, { key: '', calls: [], rest: [] })
  }
  const call = ({ name, args, signature: signed }: Pick<Result, 'name' | 'args' | 'signature'>) =>
    `${name} ${JSON.stringify(args)} ${(signed ?? '').slice(0, 8)}`
  for (const event of events) {
    const { type, phase } = event
    if (type === 'text' || type === 'reasoning') {
      if (text?.phase !== phase || text.type !== type) flush()
      text ??= { phase, type, chunks: '' }
      text.chunks += event.chunk
    } else if (type === 'tool_calls' || type === 'tool_results' || type === 'refused') {
      const key = `${phase} ${event.toolBatchId}`
      if (batch.key !== key) flush()
      batch.key = key
      if (type === 'tool_calls') {
        batch.calls.push(...event.toolCalls.map((one) => `${key} calls ${call(one)}`))
      } else if (type === 'refused') {
        batch.rest.push(
          ...event.toolCalls.map((one) => `${key} refuses (${event.reason}) ${call(one)}`),
        )
      } else {
        const how = ({ status, replayed }: Result) => `${status}${replayed ? ', replayed' : ''}`
        batch.rest.push(
          ...event.toolResults.map((one) => `${key} result (${how(one)}) ${call(one)}`),
        )
      }
    } else if (type === 'phase_start' && !event.resumed) {
      flush()
      lines.push(
        `${phase} starts${event.maxTools === undefined ? '' : `, ${event.maxTools} tools`}`,
      )
    } else if (type === 'phase_end') {
      flush()
      lines.push(`${phase} ends${event.ended ? `: ${event.ended}` : ''}`)
    } else if (type === 'complete') {
      flush()
      lines.push(`complete${event.composed ? ', composed of results' : ''}`)
    }
  }
  flush()
  return lines
}
