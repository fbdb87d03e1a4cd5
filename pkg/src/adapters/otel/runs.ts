/** The spans of passes, bundles and chains. */
import type { PassTraceEvent } from '../../planning/types.js'
import { CLIENT, FAILED, INTERNAL, type Span } from './api.js'
import type { Shared, Within } from './shared.js'
import { usageOf } from './turn.js'

/** An event of a bundle or a chain, as far as it is looked at. */
interface RunEvent {
  type: string
  id?: string | number
  stepType?: string
  status?: string
  error?: unknown
}

/** A span of the whole, one for each replicate or step. Returns when the events have ended. */
export async function watchRun(
  shared: Shared,
  name: string,
  events: AsyncIterable<RunEvent>,
  within?: Within,
): Promise<void> {
  const workflow = { 'gen_ai.operation.name': 'invoke_workflow', 'gen_ai.workflow.name': name }
  const runSpan = shared.start(`invoke_workflow ${name}`, INTERNAL, shared.within(within), {
    attributes: workflow,
  })
  const open = new Map<string, Span>()
  for await (const event of events) {
    const id = String(event.id)
    if (event.type === 'replicate_started' || event.type === 'step_started') {
      const what = event.type === 'step_started' ? `step ${event.stepType}` : 'replicate'
      const attributes = { 'turnlock.id': id }
      // Another attempt.
      open.get(id)?.end()
      open.set(id, shared.start(what, INTERNAL, shared.below(runSpan), { attributes }))
    } else if (event.type === 'replicate_done' || event.type === 'step_done') {
      settle(shared, open.get(id), event)
      open.delete(id)
    } else if (event.type === 'complete' || event.type === 'error')
      settleOnly(shared, runSpan, event)
  }
  for (const span of open.values()) span.end()
  runSpan.end()
}

const FINE = ['valid', 'done', 'ok', 'complete', 'skipped']

function settleOnly(shared: Shared, span: Span, { status, type }: RunEvent): void {
  const how = shared.text(status ?? type)
  span.setAttributes({ 'turnlock.status': how })
  if (FINE.includes(how)) return
  span.setAttributes({ 'error.type': how })
  span.setStatus({ code: FAILED, message: how })
}

function settle(shared: Shared, span: Span | undefined, event: RunEvent): void {
  if (!span) return
  settleOnly(shared, span, event)
  span.end()
}

/** The spans of a pass: its inferences and calls. Nothing tells when they began but their durations. */
export class PassSpans {
  readonly #shared: Shared
  readonly #whole: Span
  #from: number

  constructor(shared: Shared, first: PassTraceEvent, within?: Within) {
    this.#shared = shared
    this.#from = first.at - first.atMs
    const { plan_id, run_id, requestId } = first
    this.#whole = shared.start(
      'invoke_workflow tool_requests',
      INTERNAL,
      within ? shared.within(within) : shared.root(),
      {
        startTime: this.#from,
        attributes: {
          'gen_ai.operation.name': 'invoke_workflow',
          'turnlock.request_id': requestId,
          'turnlock.plan_id': plan_id,
          'turnlock.run_id': run_id,
        },
      },
    )
  }

  trace(event: PassTraceEvent): void {
    const { at } = event
    const within = this.#shared.below(this.#whole)
    if (event.type === 'llm_call') {
      const { model, metrics } = this.#shared
      const failed = event.error === undefined ? {} : { 'error.type': event.error }
      const attributes = {
        'gen_ai.operation.name': 'chat',
        'turnlock.inference': event.inference,
        ...usageOf(event.usage ?? undefined),
        ...failed,
      }
      const startTime = this.#from
      const span = this.#shared.start(model ? `chat ${model}` : 'chat', CLIENT, within, {
        startTime,
        attributes,
      })
      if (event.error !== undefined) {
        span.setStatus({ code: FAILED, message: this.#shared.text(event.error) })
      }
      span.end(at)
      metrics.inference(at - startTime, event.usage, this.#shared.attributes(failed))
    } else if (event.type === 'strategist_tool_result') {
      const { tool_name: name, status, duration_ms: ms, signature } = event
      const attributes = {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': name,
        'turnlock.signature': signature,
        'turnlock.tool.status': status,
        ...(status !== 'ok' && { 'error.type': status }),
      }
      const startTime = at - ms
      const span = this.#shared.start(`execute_tool ${name}`, INTERNAL, within, {
        startTime,
        attributes,
      })
      if (status !== 'ok') span.setStatus({ code: FAILED })
      span.end(at)
      this.#shared.metrics.tool(ms, { 'gen_ai.tool.name': this.#shared.text(name) })
    }
    this.#from = at
  }

  end(code?: string): void {
    if (code !== undefined) {
      this.#whole.setAttributes({ 'error.type': this.#shared.text(code) })
      this.#whole.setStatus({ code: FAILED, message: this.#shared.text(code) })
    }
    this.#whole.end()
  }
}
