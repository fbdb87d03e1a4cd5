/** Replicates made by a model, or by a whole turn with tools. */
import { TurnlockError, wrong } from '../errors.js'
import type { ModelReplicateOptions, TurnReplicateOptions } from '../generated/evidence.js'
import { PROVIDERS } from '../generated/providers.js'
import { MODEL_REPLICATE_OPTIONS, TURN_REPLICATE_OPTIONS } from '../generated/rows.js'
import { modelOptions, type Model } from '../models/model.js'
import { readOptions } from '../options.js'
import { checkModel, runTurn } from '../turn/turn.js'
import type { Dialect } from '../types.js'
import {
  machines,
  type ReplicateContext,
  type ReplicateResult,
  type RunReplicate,
} from './driver.js'
import { isBare, readReply } from './reply.js'

export type { ModelReplicateOptions, TurnReplicateOptions }

/**
 * Makes replicates with one model call each. The seed is sent if the wire format has a field for
 * it (`seed` for OpenAI Chat and compatible servers and for custom models, `random_seed` for
 * Mistral, `generationConfig.seed` for Gemini, `options.seed` for Ollama); otherwise `seed_unsent` marks it in `meta`. Providers promise best effort only. A
 * strategy of the bundle replaces the prompt and the name of the model, if it has them.
 *
 * @throws TurnlockError `options.invalid` for a placeholder that `input` does not have
 */
export function replicateByModel(options: ModelReplicateOptions): RunReplicate {
  options = readOptions(options, MODEL_REPLICATE_OPTIONS)
  const { model, prompt, system, input = {}, read } = options
  const fill = (text: string) =>
    text.replace(/\{\{\s*([\w.-]+)\s*\}\}/g, (_, name: string) => {
      if (!Object.hasOwn(input, name)) {
        throw wrong('input', `a member \`${name}\``)
      }
      const value = input[name]
      return typeof value === 'string' ? value : JSON.stringify(value)
    })
  if (typeof prompt !== 'string') {
    throw wrong('prompt', 'a string')
  }
  const messagesOf = (own: string) => [
    ...(system === undefined ? [] : [{ role: 'system', content: fill(system) }]),
    { role: 'user', content: fill(own) },
  ]
  // Misuse is thrown at the call.
  messagesOf(prompt)
  const messages = ({ strategy }: ReplicateContext) => messagesOf(strategy?.prompt ?? prompt)
  return replicateByTurn({ model, messages, read })
}

/**
 * Makes replicates with whole turns, with or without tools. Seeds and the models of strategies:
 * {@link replicateByModel}; `messages` may be a function that reads a strategy's prompt.
 *
 * @throws TurnlockError `options.invalid`
 */
export function replicateByTurn(options: TurnReplicateOptions): RunReplicate {
  options = readOptions(options, TURN_REPLICATE_OPTIONS)
  const { model, messages, tools, mode, policy, read = 'auto' } = options
  checkModel(model)
  if (!['auto', 'json', 'text'].includes(read)) throw wrong('read', 'auto, json or text')
  return async (context): Promise<ReplicateResult> => {
    const { seed, signal, strategy } = context
    const own = named(model, strategy?.model)
    const name = own.model ?? strategy?.model
    const path = seedPath(own.dialect)
    const sent = seeded(own, path, seed)
    const used = { ...(name && { model: name }), ...(path.length === 0 && { seedUnsent: true }) }
    const turn = runTurn({
      model: sent,
      signal,
      messages: typeof messages === 'function' ? messages(context) : messages,
      tools,
      mode,
      policy,
    })
    const { status, text, usage, error } = await turn.result
    if (status !== 'complete') {
      const code = error?.code ?? `turn.${status}`
      const why = error?.message ?? `the turn ended as ${status}`
      throw new TurnlockError(code, why, { usage, ...used })
    }
    try {
      if (read === 'text') return { data: text, usage, ...used }
      return { ...(await parse(text, read, context.accepts)), usage, ...used }
    } catch (error) {
      const { code, message } = error as TurnlockError
      throw new TurnlockError(code, `the answer is no JSON: ${message}`, { usage, ...used })
    }
  }
}

/** The names on the way to the member of a request that holds the seed; empty if there is none. */
const seedPath = (dialect: Dialect): readonly string[] =>
  PROVIDERS.find((provider) => provider.dialect === dialect)?.seed ?? []

/** A model under another of its provider's names. */
function named(model: Model, name: string | undefined): Model {
  if (name === undefined) return model
  // The core writes the name into bodies of models that have one; others get it here.
  if (model.model === undefined) return withMembers(model, { model: name })
  return { ...withMembers(model, {}), model: name }
}

function seeded(model: Model, [outer, inner]: readonly string[], seed: number): Model {
  if (outer === undefined) return model
  if (inner === undefined) return withMembers(model, { [outer]: seed })
  const open: Model['open'] = (request, options) => {
    const beside = (request as unknown as Record<string, object | undefined>)[outer]
    return model.open({ ...request, [outer]: { ...beside, [inner]: seed } }, options)
  }
  return { ...withMembers(model, {}), open }
}

function withMembers(model: Model, members: Record<string, unknown>): Model {
  return {
    ...(modelOptions(model) as Model),
    ...(model.secrets && { secrets: model.secrets }),
    open: (request, options) => model.open({ ...request, ...members }, options),
  }
}

/**
 * The data of an answer. With a schema, and with `json`: the only JSON value that fits, whatever
 * stands around it. Otherwise a text with words around a value is a text.
 */
async function parse(
  answer: string,
  read: 'auto' | 'json',
  accepts: ReplicateContext['accepts'],
): Promise<Pick<ReplicateResult, 'data' | 'repairs'>> {
  const reply = readReply(await machines(), answer)
  const values = accepts || read === 'json' ? reply.values : reply.values.filter(isBare)
  const found = values.map(({ text, repairs }) => ({ data: JSON.parse(text) as unknown, repairs }))
  const fitting = []
  for (const one of found) if (!accepts || (await accepts(one.data))) fitting.push(one)
  // A value that does not fit is shown with its errors, unless it only stands in a text.
  const single = found.length === 1 && (read === 'json' || found.every(isBare)) ? found : []
  const [only, ...others] = fitting.length ? fitting : single
  if (only && others.length === 0) return only
  if (others.length) throw new TurnlockError('json.syntax', 'several different JSON values fit')
  const { fault } = reply
  // Text that begins like an object or a list was meant to be JSON.
  const meant = fault && !fault.missing && (/^[{[]/.test(reply.text) || reply.text === '')
  if (fault && (read === 'json' || meant)) throw new TurnlockError(fault.code, fault.message)
  if (read === 'json') throw new TurnlockError('json.syntax', 'no JSON that fits was found')
  return { data: answer }
}
