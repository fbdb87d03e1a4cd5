/** Bedrock Converse. */
import { checkFunctions } from '../checks.js'
import { wrong } from '../errors.js'
import type { BedrockOptions } from '../generated/models.js'
import { BEDROCK } from '../generated/providers.js'
import { BEDROCK_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import { ConnectionError, type Fetch, type Model } from './model.js'
import { modelOf } from './provider.js'

export type { BedrockOptions }

/**
 * A model behind `POST {baseURL}/model/{model}/converse-stream`. The host signs each request, with a
 * library of its choice, here `aws4fetch`; or gives a key of Bedrock's own as `apiKey`:
 *
 * ```js
 * const aws = new AwsClient({ accessKeyId, secretAccessKey, service: 'bedrock', region })
 * const model = bedrock({
 *   region,
 *   model: 'anthropic.claude-sonnet-4-20250514-v1:0',
 *   async sign({ url, ...request }) {
 *     const { headers } = await aws.sign(url, request)
 *     return Object.fromEntries(headers)
 *   },
 * })
 * ```
 *
 * Browsers cannot ask it: the API answers no page.
 *
 * @throws TurnlockError `options.invalid`
 */
export function bedrock(options: BedrockOptions): Model {
  options = readOptions(options, BEDROCK_OPTIONS)
  const { apiKey, region, sign } = options
  checkFunctions({ sign })
  if (!sign && !apiKey && !options.headers && options.baseURL === undefined) {
    throw wrong('sign', 'a function that signs requests, or an `apiKey`')
  }
  if (options.baseURL === undefined && !/^[a-z0-9-]+$/.test(region ?? '')) {
    throw wrong('region', 'an AWS region, such as us-east-1, or a `baseURL`')
  }
  const { baseURL = BEDROCK.baseURL?.replace('{region}', String(region)) } = options
  const fetch = sign ? signing(sign, options.fetch) : options.fetch
  return modelOf(BEDROCK, { ...options, baseURL, fetch })
}

/** A `fetch` that adds the headers of a signature. */
function signing(sign: NonNullable<BedrockOptions['sign']>, given?: Fetch): Fetch {
  return async (url, init) => {
    const headers = init.headers as Record<string, string>
    const request = { method: 'POST' as const, url, body: init.body as string }
    let added
    try {
      added = await sign({ ...request, headers: { ...headers } })
    } catch {
      // What the host throws may hold a secret, so it is not shown.
      throw new ConnectionError('the request could not be signed: `sign` threw')
    }
    const more = added instanceof Headers ? Object.fromEntries(added) : added
    const signed = { ...init, headers: { ...headers, ...more } }
    return given ? given(url, signed) : globalThis.fetch(url, signed)
  }
}
