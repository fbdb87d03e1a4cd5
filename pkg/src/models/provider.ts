/** Models of any provider, by its dialect. */
import { checkValues } from '../checks.js'
import { wrong } from '../errors.js'
import type { HttpModelOptions, ProviderModelOptions } from '../generated/models.js'
import { PROVIDERS, type ProviderInfo } from '../generated/providers.js'
import { PROVIDER_MODEL_OPTIONS } from '../generated/rows.js'
import type { ModelHistory } from '../generated/turn.js'
import { present, readOptions } from '../options.js'
import { httpModel, type Model } from './model.js'

export type { ProviderModelOptions }

/** What the models of all providers take beside {@link HttpModelOptions}. */
type AddressedOptions = HttpModelOptions &
  Pick<ProviderModelOptions, 'baseURL' | 'dangerouslyAllowBrowser' | 'thinkTags' | 'textToolCalls'>

/** A model of a provider, with its address, the header of its key, and whether it keeps threads. */
export function modelOf(info: ProviderInfo, options: AddressedOptions): Model {
  const { apiKey, baseURL = info.baseURL, dangerouslyAllowBrowser } = options
  checkValues({ dangerouslyAllowBrowser }, { dangerouslyAllowBrowser: 'flag' })
  const headers: Record<string, string> = {}
  // `httpModel` refuses a key that is no text.
  if (apiKey) headers[info.keyHeader] = isBearer(info) ? `Bearer ${String(apiKey)}` : apiKey
  if (dangerouslyAllowBrowser && info.pageHeader) headers[info.pageHeader] = 'true'
  const { thinkTags, textToolCalls } = options
  return {
    ...httpModel(info.dialect, options, baseURL, headers),
    ...(info.threads && { threads: true }),
    ...present({ thinkTags, textToolCalls }),
  }
}

/** A model with what it wants back of the responses in its history, where that is given. */
export const withHistory = (model: Model, history: ModelHistory): Model => {
  const given = present(history)
  return Object.keys(given).length > 0 ? { ...model, history: given } : model
}

const isBearer = ({ keyHeader }: ProviderInfo) => keyHeader === 'authorization'

/**
 * A model of the provider with this dialect, at the provider's own address unless `baseURL` is
 * given. The functions named after providers have options of theirs, such as `region` of `bedrock`.
 *
 * @throws TurnlockError `options.invalid`
 */
export function providerModel(options: ProviderModelOptions): Model {
  options = readOptions(options, PROVIDER_MODEL_OPTIONS)
  const { dialect, baseURL } = options
  const withClient = PROVIDERS.filter(({ client }) => client !== undefined)
  const info = withClient.find((one) => one.dialect === dialect)
  if (!info) {
    throw wrong('dialect', `one of ${withClient.map((one) => one.dialect).join(', ')}`)
  }
  if (baseURL === undefined && (!info.baseURL || info.baseURL.includes('{'))) {
    throw wrong('baseURL', `the address of the server: ${info.title} has none of its own`)
  }
  return modelOf(info, options)
}
