/** The tool-request pass, for a page or a worker. */
import { Driver } from '../driver.js'
import { isTurnlockError, TurnlockError } from '../errors.js'
import type { Model } from '../models/model.js'
import { stringify } from '../pure.js'
import { randomHex, randomId } from '../random.js'
import type { Redact } from '../redact.js'
import { describe } from '../serialize.js'
import type { Tool } from '../tools.js'
import { abortReason, checkModel, wireTools } from '../turn.js'
import type { TraceEvent, Usage } from '../types.js'
import type { PromptTemplate } from './pure.js'
import { redacted } from './redact.js'
import type {
  PassCall,
  PassToolResult,
  PassTraceEvent,
  RecordedCall,
  Rejected,
  ToolRequestPolicy,
} from './types.js'

/** What `runWithToolRequests` takes. */
export interface ToolRequestOptions<Plan = unknown> {
  /** From `openaiChat`, `anthropic` or `customModel`. */
  model: Model
  /**
   * The planning input. What the tools bring goes to its `global_context.tool_results`; anything
   * that stands there already is not sent.
   */
  input: Record<string, unknown>
  /** By name. Only those that are `readOnly` ever run. */
  tools?: Record<string, Tool>
  policy?: ToolRequestPolicy
  /** Names the plan in every event. @defaultValue random; of the input when replaying */
  planId?: string
  /** @defaultValue random; of the input when replaying */
  runId?: string
  /** What asked for the plan. @defaultValue "live"; "paper" with `record`, "backtest" with `replay` */
  source?: string
  /** In place of the shipped prompts; see `lintPrompt`. */
  prompts?: { request?: string | PromptTemplate; plan?: string | PromptTemplate }
  /**
   * Makes the plan of the model's text, out of its fence if it is in one.
   * @defaultValue the JSON value; the text itself where it is no JSON
   */
  parsePlan?: (text: string) => Plan | Promise<Plan>
  /** Gets every result for a later `replay`: a list to add to, or a function. Not redacted. */
  record?: RecordedCall[] | ((call: RecordedCall) => void)
  /**
   * Recorded results, by signature. No tool runs: a call without a record gets the error
   * `replay.miss`. The same input gives the same requests, result and trace, byte for byte.
   */
  replay?: readonly RecordedCall[]
  /**
   * Milliseconds since 1970 that the start counts as in trace events.
   * @defaultValue `Date.now()`; 0 when replaying
   */
  startedAt?: number
  /** Gets trace events; what it throws is ignored. */
  onTrace?: (event: PassTraceEvent) => void
  /** Takes out of the texts of trace events what must not be kept. */
  redact?: Redact
  /** Ends the pass with `request.cancelled`. */
  signal?: AbortSignal
}

/** A plan, and how it came about. */
export interface ToolRequestResult<Plan = unknown> {
  plan: Plan
  /** What the tools brought, failures and time-outs included, in the order of the requests. */
  toolResults: PassToolResult[]
  /** Every call that was requested, blocked ones included. */
  calls: PassCall[]
  /** Why the plan was made from the input alone; null if it had results. */
  fellBack: null | 'no_request' | 'invalid_request' | 'all_failed'
  /** What spoiled a request. */
  rejected: Rejected[]
  /** The input as the plan pass had it. */
  input: Record<string, unknown>
  /** The model's text, out of its fence. */
  text: string
  planId: string
  runId: string
  usage: Usage
  /** Requests to the model, repetitions not counted. */
  inferences: number
}

/** All of them but what makes the plan. */
type AnyOptions = Omit<ToolRequestOptions, 'parsePlan'>

interface Done {
  plan?: unknown
  text?: string
  error?: { code: string; message: string; details?: Record<string, unknown> }
  recorded: RecordedCall[]
  toolResults: PassToolResult[]
  calls: PassCall[]
  rejected: Rejected[]
  fellBack: ToolRequestResult['fellBack']
  planId: string
  runId: string
  usage: Usage
  inferences: number
}

/**
 * Asks a planner in two passes: what read-only data it needs, then, with the results, for the
 * plan. Whatever goes wrong before the plan pass, a tool, a request, the model itself, is recorded,
 * and the plan is made without it.
 *
 * @returns rejects with a TurnlockError: `options.invalid`, `tool.invalid_name`,
 * `json.not_serializable` for misuse; `model.*` where the plan pass failed; `plan.missing` where
 * the model gave none; `plan.invalid` where `parsePlan` threw; `request.cancelled`. Its `details`
 * hold `toolResults`, `calls` and `rejected` where there are any.
 */
export async function runWithToolRequests<Plan = unknown>(
  options: ToolRequestOptions<Plan>,
): Promise<ToolRequestResult<Plan>> {
  const { parsePlan, record } = options
  const done = await drive(options)
  const { recorded, plan, text = '', error, ...result } = done
  const { toolResults, calls, rejected } = result
  for (const call of recorded) {
    try {
      if (typeof record === 'function') record(call)
      else record?.push(call)
    } catch {
      // A recorder that throws must not cost the plan.
    }
  }
  const about = { toolResults, calls, rejected }
  if (error) throw new TurnlockError(error.code, error.message, { ...error.details, ...about })
  const input = withResults(options.input, result.fellBack === null ? toolResults : undefined)
  if (!parsePlan) return { ...result, plan: plan as Plan, input, text }
  try {
    return { ...result, plan: await parsePlan(text), input, text }
  } catch (cause) {
    if (isTurnlockError(cause)) throw cause
    const message = `the plan was not accepted: ${describe(cause)}`
    throw new TurnlockError('plan.invalid', message, { ...about, text }, cause)
  }
}

function drive(options: AnyOptions): Promise<Done> {
  const { model, input, tools, policy, replay, onTrace, redact, signal } = options
  checkModel(model)
  checkRecording(options)
  // Typed, before the driver writes it among the other options.
  stringify([input, replay])
  const recording = options.record !== undefined
  // When replaying, what is left out is made from the input.
  const own = replay ? {} : { planId: randomId(), runId: randomId(), secret: randomHex(32) }
  const machine = {
    ...own,
    ...given({ planId: options.planId, runId: options.runId }),
    ...{ dialect: model.dialect, maxRetries: model.maxRetries, tools: wireTools(tools) },
    ...{ input, policy, replay, source: options.source ?? (recording ? 'paper' : undefined) },
    requestPrompt: template(options.prompts?.request),
    planPrompt: template(options.prompts?.plan),
    startedAt: options.startedAt ?? (replay ? 0 : Date.now()),
    trace: onTrace !== undefined,
  }
  return new Promise<Done>((resolve, reject) => {
    const over = () => signal?.removeEventListener('abort', onAbort)
    const trace = (event: TraceEvent) => {
      const one = event as unknown as PassTraceEvent
      onTrace?.call(options, redact ? redacted(one, redact) : one)
    }
    const driver = new Driver(
      {
        ...{ machine: 'request', model, tools: tools ?? {}, projectId: null },
        requestId: options.runId ?? (own.runId as string | undefined) ?? '',
        onEvent: () => {},
        room: () => undefined,
        onTrace: onTrace && trace,
        onDone: (result) => (over(), resolve(result as unknown as Done)),
        onFault: (error) => (over(), reject(error)),
      },
      false,
      machine,
    )
    const onAbort = () => driver.send({ type: 'cancel', reason: abortReason(signal) })
    if (signal?.aborted) return onAbort()
    signal?.addEventListener('abort', onAbort, { once: true })
    driver.send({ type: 'start' })
  })
}

function checkRecording({ record, replay }: AnyOptions): void {
  const invalid = (option: string, expected: string) =>
    new TurnlockError('options.invalid', `\`${option}\`: expected ${expected}`)
  if (record !== undefined && typeof record !== 'function' && !Array.isArray(record)) {
    throw invalid('record', 'a list or a function')
  }
  if (replay === undefined) return
  if (!Array.isArray(replay)) throw invalid('replay', 'a list of recorded calls')
  if (record !== undefined) throw invalid('record', 'none when replaying')
}

/** Only what has a value. */
const given = (values: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )

const template = (prompt: string | PromptTemplate | undefined): unknown =>
  typeof prompt === 'string' ? { id: 'custom', text: prompt } : prompt

/** The input as the plan pass has it. */
function withResults(
  input: Record<string, unknown>,
  results: PassToolResult[] | undefined,
): Record<string, unknown> {
  const context = input['global_context'] as Record<string, unknown> | null | undefined
  const { tool_results: _, ...rest } = context ?? {}
  if (results) return { ...input, global_context: { ...rest, tool_results: results } }
  return context ? { ...input, global_context: rest } : input
}
