/** The metrics of the GenAI conventions (semantic-conventions-genai, 1.42.0-dev). */
import type { Usage } from '../../types.js'
import type { Attributes, Meter } from './api.js'

const SECONDS = { unit: 's', description: '' }

/** Records what spans came to. Durations are in seconds. */
export class Metrics {
  readonly #common: Attributes
  readonly #inference
  readonly #input
  readonly #output
  readonly #agent
  readonly #tool
  readonly #inferenceCalls
  readonly #toolCalls

  constructor(meter: Meter, common: Attributes) {
    const histogram = (name: string, unit: string, description: string) =>
      meter.createHistogram(`gen_ai.${name}`, { ...SECONDS, unit, description })
    const counter = (name: string, description: string) =>
      meter.createCounter(`gen_ai.client.inference.usage.${name}`, {
        unit: '{token}',
        description,
      })
    this.#common = common
    this.#inference = histogram('client.inference.duration', 's', 'Duration of an inference.')
    this.#input = counter('input_tokens', 'Tokens of prompts.')
    this.#output = counter('output_tokens', 'Tokens of responses.')
    this.#agent = histogram('invoke_agent.duration', 's', 'Duration of a turn.')
    this.#tool = histogram('execute_tool.duration', 's', 'Duration of a tool call.')
    this.#inferenceCalls = histogram(
      'invoke_agent.inference_calls',
      '{call}',
      'Inferences of a turn.',
    )
    this.#toolCalls = histogram('invoke_agent.tool_calls', '{call}', 'Executed calls of a turn.')
  }

  inference(ms: number, usage: Usage | null, own: Attributes): void {
    const attributes = { ...this.#common, ...own }
    this.#inference.record(ms / 1000, attributes)
    if (!usage) return
    this.#input.add(usage.inputTokens, attributes)
    this.#output.add(usage.outputTokens, attributes)
  }

  tool(ms: number, own: Attributes): void {
    this.#tool.record(ms / 1000, own)
  }

  agent(ms: number, inferences: number, calls: number, own: Attributes): void {
    const attributes = { ...this.#common, ...own }
    this.#agent.record(ms / 1000, attributes)
    this.#inferenceCalls.record(inferences, attributes)
    this.#toolCalls.record(calls, attributes)
  }
}
