/** Runs a tool-request pass in a page or a worker. */
import type { PlanningGlue } from '../core/glue.js'
import { LazyPart } from '../core/instance.js'
import { checkOf, type Check, type Verdict } from '../evidence/schema.js'
import { checkFunctions, checkSignal, checkValues, isObject } from '../checks.js'
import { Driver, type Host, type Kind } from '../driver/driver.js'
import { isTurnlockError, TurnlockError, wrong } from '../errors.js'
import { PASS_OPTIONS } from '../generated/checks.js'
import type {
  PassOptions,
  PassResult,
  PassToolResult,
  PassTraceEvent,
  PlanCandidate,
  PromptTemplate,
  PlanningOptions,
} from '../generated/planning.js'
import { PLANNING_OPTIONS } from '../generated/rows.js'
import { modelOptions } from '../models/model.js'
import { readOptions, present } from '../options.js'
import { randomHex, randomId } from '../shared/random.js'
import { abortReason, describe } from '../shared/serialize.js'
import { stringify } from '../shared/text.js'
import { checkBoxSecret, checkModel, wireTools } from '../turn/turn.js'
import { cut, redacted } from './redact.js'
import { running, type Reporter, type RunningPass } from './running.js'

export type { PlanningOptions }

/** A plan, and how it was made. */
export interface PlanningResult<Plan = unknown> extends Omit<
  PassResult,
  'candidates' | 'error' | 'fault' | 'plan' | 'recorded' | 'text'
> {
  plan: Plan
  /** The input of the plan pass. */
  input: Record<string, unknown>
  /** The JSON of the plan as the model wrote it, or all of its text after its thinking. */
  text: string
}

const PASS: Kind<PlanningGlue> = {
  parts: [new LazyPart(async () => (await import('../core/parts/planning.js')).planning)],
  make: (glue, options) => glue.request_new(options),
}

/** The options, whatever the plan's type is. */
type AnyOptions = Omit<PlanningOptions, 'parsePlan'>

/**
 * Requests a plan in two passes. The first asks the model which read-only data it needs; the
 * second asks for the plan, with the results. Any failure before the plan pass (of a tool, a
 * request or the model) is recorded, and the plan is made without it.
 *
 * The promise is also the running pass: iterate over its trace events, or serve them.
 *
 * @returns rejects with a TurnlockError: `options.invalid`, `tool.invalid_name`,
 * `json.not_serializable` for misuse; `model.*` if the plan pass failed; `plan.missing` if the
 * model returned none; `plan.invalid` if the plan does not match `planSchema` (`details.errors`) or
 * `parsePlan` threw, with the text in `details.text`; `request.cancelled`. Its `details`
 * contain `toolResults`, `calls`, `rejected` and `notes`.
 */
export function runPlanning<Plan = unknown>(options: PlanningOptions<Plan>): RunningPass<Plan> {
  try {
    options = readOptions(options, PLANNING_OPTIONS)
    checkHost(options)
  } catch (error) {
    // Misuse of a pass is its rejection.
    return running(() => Promise.reject(error as TurnlockError), undefined, 0)
  }
  return running((reporter) => plan(options, reporter), options.redact, mostReason(options))
}

/** Checks what the core never sees. `null` stands for what is not given. */
function checkHost(given: Partial<PlanningOptions>): void {
  const { parsePlan, onTrace, redact } = given
  checkFunctions({ parsePlan, onTrace, redact })
  if (!isObject(given.prompts ?? {})) throw wrong('prompts', 'an object')
  checkSignal(given.signal)
}

/** UTF-16 units of a reason; the default is that of the core's row. */
const mostReason = ({ policy }: AnyOptions): number => policy?.maxReasonChars ?? 200

async function plan<Plan>(
  options: PlanningOptions<Plan>,
  reporter: Reporter,
): Promise<PlanningResult<Plan>> {
  const { parsePlan, planSchema, record } = options
  const check = planSchema == null ? undefined : checkOf(planSchema, 'planSchema')
  const done = await drive(options, reporter)
  const { recorded, plan, text = '', candidates, fault, error, ...result } = done
  const { toolResults, calls, rejected, notes } = result
  for (const call of recorded) {
    try {
      if (typeof record === 'function') record(call)
      else record?.push(call)
    } catch {
      // A recorder that throws must not prevent the plan.
    }
  }
  const all = { toolResults, calls, rejected, notes }
  const about = options.redact ? cut(all, mostReason(options)) : all
  if (error) throw new TurnlockError(error.code, error.message, { ...error.details, ...about })
  const input = withResults(options.input, result.fellBack === null ? toolResults : undefined)
  const cancelled = untilCancelled(reporter, options.signal, about)
  const accepted = async (): Promise<PlanningResult<Plan>> => {
    const checked = check && (await only(candidates, check, fault))
    if (checked?.errors.length) {
      const { errors } = checked
      const message = `the plan was not accepted: ${errors.join('; ')}`
      throw new TurnlockError('plan.invalid', message, { ...about, text, errors })
    }
    const { data, ...own } = checked ?? { data: plan, text, repairs: result.repairs }
    const { text: whole, repairs } = own
    const made = parsePlan ? await parsePlan(whole) : (data as Plan)
    return { ...result, plan: made, input, text: whole, repairs }
  }
  try {
    return await Promise.race([cancelled.error, accepted()])
  } catch (cause) {
    if (isTurnlockError(cause)) throw cause
    const message = `the plan was not accepted: ${describe(cause)}`
    throw new TurnlockError('plan.invalid', message, { ...about, text }, cause)
  } finally {
    cancelled.over()
  }
}

/** The only candidate that the schema accepts, or why there is none. */
async function only(
  candidates: readonly PlanCandidate[],
  check: Check,
  fault: string | undefined,
): Promise<Omit<PlanCandidate, 'plan'> & Verdict> {
  const checked = []
  for (const { plan, ...own } of candidates) checked.push({ ...own, ...(await check(plan)) })
  const fitting = checked.filter(({ errors }) => errors.length === 0)
  const none = { text: '', repairs: [], data: undefined }
  if (fitting.length > 1) return { ...none, errors: ['#: several different JSON values fit'] }
  const [first] = [...fitting, ...checked]
  return first ?? { ...none, errors: [`#: expected JSON${fault ? `: ${fault}` : ''}`] }
}

/** Rejects once the pass is cancelled; for what the host does when the core is through. */
function untilCancelled(
  reporter: Reporter,
  signal: AbortSignal | undefined,
  about: Record<string, unknown>,
) {
  let over = () => {}
  const error = new Promise<never>((_, reject) => {
    reporter.cancel = (reason) => reject(new TurnlockError('request.cancelled', reason, about))
    const onAbort = () => reporter.cancel(abortReason(signal))
    if (signal?.aborted) return onAbort()
    signal?.addEventListener('abort', onAbort, { once: true })
    over = () => signal?.removeEventListener('abort', onAbort)
  })
  return { error, over: () => over() }
}

function drive(options: AnyOptions, reporter: Reporter): Promise<PassResult> {
  const { model, input, tools, policy, replay, onTrace, redact, signal } = options
  checkModel(model)
  checkRecording(options)
  // Throws a typed error before the driver serializes all options.
  stringify([input, replay])
  // When recording and replaying, the core derives missing ids from the input: the same ones.
  const own = {
    ...(!replay && { secret: randomHex(32) }),
    ...(!replay && !options.record && { planId: randomId(), runId: randomId() }),
  }
  const machine: PassOptions = {
    ...own,
    ...present({ planId: options.planId, runId: options.runId }),
    ...modelOptions(model),
    tools: wireTools(tools),
    input,
    policy,
    replay: replay && [...replay],
    strict: options.strict,
    ...(options.boxSecret !== undefined && { boxSecret: checkBoxSecret(options.boxSecret) }),
    source: options.source,
    requestPrompt: template(options.prompts?.request),
    planPrompt: template(options.prompts?.plan),
    planIsJson: options.planSchema != null,
    startedAt: options.startedAt ?? (replay ? 0 : Date.now()),
    trace: true,
    whole: redact !== undefined,
  }
  checkPass(machine)
  return new Promise<PassResult>((resolve, reject) => {
    const over = () => signal?.removeEventListener('abort', onAbort)
    const host: Host<PassResult, PassTraceEvent> = {
      model,
      tools: tools ?? {},
      projectId: null,
      requestId: options.runId ?? own.runId ?? '',
      onEvent: () => {},
      room: () => undefined,
      onTrace(event) {
        // The core may have derived it. No tool runs before the first event.
        host.requestId = event.run_id
        const shown = redact ? redacted(event, redact, mostReason(options)) : event
        reporter.trace(shown)
        onTrace?.call(options, shown)
      },
      onDone: (result) => (over(), resolve(result)),
      onFault: (error) => (over(), reject(error)),
    }
    const driver = new Driver<PlanningGlue, PassResult, PassTraceEvent>(host, PASS, machine)
    reporter.cancel = (reason) => driver.send({ type: 'cancel', reason })
    const onAbort = () => reporter.cancel(abortReason(signal))
    if (signal?.aborted) return onAbort()
    signal?.addEventListener('abort', onAbort, { once: true })
    driver.send({ type: 'start' })
  })
}

function checkRecording({ record, replay, planId, runId }: AnyOptions): void {
  if (record !== undefined && typeof record !== 'function' && !Array.isArray(record)) {
    throw wrong('record', 'a list or a function')
  }
  if (replay === undefined) {
    // The core would derive it from the input.
    for (const [name, id] of Object.entries({ planId, runId })) {
      if (id === '') throw wrong(name, 'a string that is not empty')
    }
    return
  }
  if (!Array.isArray(replay)) throw wrong('replay', 'a list of recorded calls')
  if (record !== undefined) throw wrong('record', 'none when replaying')
}

/** Throws for what the core would refuse of a pass's options. */
export function checkPass(options: PassOptions): void {
  checkValues(options, PASS_OPTIONS)
  const { input, body, tools, policy } = options
  if (!isObject(body ?? {})) throw wrong('body', 'an object')
  if (!isObject(input)) throw wrong('input', 'an object')
  const context = (input as Record<string, unknown>)['global_context']
  if (!isObject(context ?? {})) throw wrong('input.global_context', 'an object')
  const taken = tools?.find(({ name }) => name.toLowerCase() === 'request_tools')
  if (taken) {
    const message = `tool \`${taken.name}\`: the pass has a tool of this name`
    throw new TurnlockError('tool.invalid_name', message)
  }
  const names = new Set(tools?.map(({ name }) => name))
  const missing = policy?.allow?.find((name) => !names.has(name))
  if (missing !== undefined) {
    throw wrong('policy.allow', `names of \`tools\`; there is no tool \`${missing}\``)
  }
}

const template = (prompt: string | PromptTemplate | undefined): PromptTemplate | undefined =>
  typeof prompt === 'string' ? { id: 'custom', text: prompt } : prompt

/** The input of the plan pass. */
function withResults(
  input: Record<string, unknown>,
  results: PassToolResult[] | undefined,
): Record<string, unknown> {
  const context = input['global_context'] as Record<string, unknown> | null | undefined
  const { tool_results: _, ...rest } = context ?? {}
  if (results) return { ...input, global_context: { ...rest, tool_results: results } }
  return context ? { ...input, global_context: rest } : input
}
