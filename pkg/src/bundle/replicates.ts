/** Replicates that a model, or a whole turn with tools, makes. */
import { TurnlockError } from '../errors.js'
import type { Model } from '../models/model.js'
import { canonicalize } from '../pure.js'
import type { Tool } from '../tools.js'
import { runTurn } from '../turn.js'
import type { Policy } from '../types.js'
import type { ReplicateContext, ReplicateResult, RunReplicate } from './driver.js'

interface Answer {
  /**
   * How the answer is read. `auto`: as JSON where it is JSON (a code fence around it is taken
   * off), else as text. @defaultValue "auto"
   */
  read?: 'auto' | 'json' | 'text'
}

/** What `replicateByModel` takes. */
export interface ModelReplicateOptions extends Answer {
  model: Model
  /** The user's message; `{{name}}` stands for that member of `input`. */
  prompt: string
  /** The system message, with the same placeholders. */
  system?: string
  input?: Record<string, unknown>
}

/** What `replicateByTurn` takes. */
export interface TurnReplicateOptions extends Answer {
  model: Model
  /** The history, or what makes it for a replicate. */
  messages: unknown[] | ((context: ReplicateContext) => unknown[])
  tools?: Record<string, Tool>
  mode?: 'two_stage' | 'unified'
  policy?: Policy
}

/**
 * A replicate from one model call. The seed goes along where the wire has a field for it
 * (`seed` for OpenAI Chat and what speaks it, `random_seed` for Mistral, and to custom models);
 * elsewhere it does nothing. Providers promise best effort only.
 *
 * @throws TurnlockError `options.invalid` for a placeholder that `input` does not have
 */
export function replicateByModel(options: ModelReplicateOptions): RunReplicate {
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
  return replicateByTurn({ model, messages, ...(read && { read }) })
}

/** A replicate from a whole turn, with tools if it has any. Seeds as in {@link replicateByModel}. */
export function replicateByTurn(options: TurnReplicateOptions): RunReplicate {
  const { model, messages, tools, mode, policy, read = 'auto' } = options
  if (typeof model?.open !== 'function') {
    throw new TurnlockError('options.invalid', '`model`: expected a model, such as openaiChat(…)')
  }
  return async (context): Promise<ReplicateResult> => {
    const turn = runTurn({
      ...{ model: seeded(model, context.seed), signal: context.signal },
      messages: typeof messages === 'function' ? messages(context) : messages,
      ...(tools && { tools }),
      ...(mode && { mode }),
      ...(policy && { policy }),
    })
    const { status, text, usage, error } = await turn.result
    if (status !== 'complete') {
      const code = error?.code ?? `turn.${status}`
      throw new TurnlockError(code, error?.message ?? `the turn ended as ${status}`, { usage })
    }
    try {
      return { data: read === 'text' ? text : parse(text, read), usage }
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

function parse(answer: string, read: 'auto' | 'json'): unknown {
  const text = /^\s*```\w*\s*\n([\s\S]*?)\n?```\s*$/.exec(answer)?.[1] ?? answer
  try {
    canonicalize(text) // refuses what JSON.parse would quietly change: keys that stand twice
    return JSON.parse(text)
  } catch (error) {
    // What begins as an object or a list was meant as one.
    if (read === 'json' || /^\s*[{[]/.test(text)) throw error
    return answer
  }
}
