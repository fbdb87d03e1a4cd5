/** Replicates made by a model, or by a whole turn with tools. */
import { TurnlockError } from '../errors.js'
import type { ModelReplicateOptions, TurnReplicateOptions } from '../generated/bundle.js'
import { MODEL_REPLICATE_OPTIONS, TURN_REPLICATE_OPTIONS } from '../generated/rows.js'
import type { Model } from '../models/model.js'
import { checkOptions } from '../options.js'
import { runTurn } from '../turn.js'
import { checkStrict, type ReplicateResult, type RunReplicate } from './driver.js'

export type { ModelReplicateOptions, TurnReplicateOptions }

/**
 * Makes replicates with one model call each. The seed is sent if the wire format has a field for
 * it (`seed` for OpenAI Chat and compatible servers and for custom models, `random_seed` for
 * Mistral); otherwise it has no effect. Providers promise best effort only.
 *
 * @throws TurnlockError `options.invalid` for a placeholder that `input` does not have
 */
export function replicateByModel(options: ModelReplicateOptions): RunReplicate {
  checkOptions(options, MODEL_REPLICATE_OPTIONS)
  const { model, prompt, system, input = {}, read } = options
  const fill = (text: string) =>
    text.replace(/\{\{\s*([\w.-]+)\s*\}\}/g, (_, name: string) => {
      if (!Object.hasOwn(input, name)) {
        throw new TurnlockError('options.invalid', `\`input\`: expected a member \`${name}\``)
      }
      const value = input[name]
      return typeof value === 'string' ? value : JSON.stringify(value)
    })
  if (typeof prompt !== 'string') {
    throw new TurnlockError('options.invalid', '`prompt`: expected a string')
  }
  const messages = [
    ...(system === undefined ? [] : [{ role: 'system', content: fill(system) }]),
    { role: 'user', content: fill(prompt) },
  ]
  return replicateByTurn({ model, messages, read })
}

/**
 * Makes replicates with whole turns, with or without tools. Seeds: {@link replicateByModel}.
 *
 * @throws TurnlockError `options.invalid`
 */
export function replicateByTurn(options: TurnReplicateOptions): RunReplicate {
  checkOptions(options, TURN_REPLICATE_OPTIONS)
  const { model, messages, tools, mode, policy, read = 'auto' } = options
  if (typeof model?.open !== 'function') {
    throw new TurnlockError('options.invalid', '`model`: expected a model, such as openaiChat(…)')
  }
  return async (context): Promise<ReplicateResult> => {
    const turn = runTurn({
      ...{ model: seeded(model, context.seed), signal: context.signal },
      messages: typeof messages === 'function' ? messages(context) : messages,
      ...{ tools, mode, policy },
    })
    const { status, text, usage, error } = await turn.result
    if (status !== 'complete') {
      const code = error?.code ?? `turn.${status}`
      throw new TurnlockError(code, error?.message ?? `the turn ended as ${status}`, { usage })
    }
    try {
      return { data: read === 'text' ? text : await parse(text, read), usage }
    } catch (error) {
      const { code, message } = error as TurnlockError
      throw new TurnlockError(code, `the answer is no JSON: ${message}`, { usage })
    }
  }
}

function seeded(model: Model, seed: number): Model {
  const field = { 'openai-chat': 'seed', mistral: 'random_seed' }[model.dialect as string]
  if (!field) return model
  return {
    ...{ dialect: model.dialect, maxRetries: model.maxRetries },
    open: (request, options) => model.open({ ...request, [field]: seed }, options),
  }
}

async function parse(answer: string, read: 'auto' | 'json'): Promise<unknown> {
  const text = /^\s*```\w*\s*\n([\s\S]*?)\n?```\s*$/.exec(answer)?.[1] ?? answer
  try {
    await checkStrict(text)
    return JSON.parse(text)
  } catch (error) {
    // Text that begins like an object or a list was meant to be JSON.
    if (read === 'json' || /^\s*[{[]/.test(text)) throw error
    return answer
  }
}
