// Requests to Bedrock that a library signs (AWS Signature Version 4), checked by a server that knows
// the secret and computes the signature by the definition, not by that library.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import { after, before, test } from 'node:test'
import { AwsClient } from 'aws4fetch'
import { bedrock, runTurn } from 'turnlock'
import { createProvider } from './server.mjs'

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCY' }
const REGION = 'eu-west-1'

const sha256 = (data) => createHash('sha256').update(data).digest('hex')
const hmac = (key, text) => createHmac('sha256', key).update(text).digest()
const encoded = (part) =>
  encodeURIComponent(part).replace(
    /[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  )

/** Why a request is refused; undefined if its signature is right. */
function refusal({ method, url, headers }, body) {
  const form = /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w+)$/
  const [, credential, names, signature] = form.exec(headers.authorization ?? '') ?? []
  if (!credential) return 'no signature'
  const [id, day, region, service, end] = credential.split('/')
  const date = headers['x-amz-date'] ?? ''
  const scope = [day, region, service, end].join('/')
  if (id !== KEYS.accessKeyId || scope !== `${date.slice(0, 8)}/${REGION}/bedrock/aws4_request`) {
    return `scope ${credential}`
  }
  if (!names.split(';').includes('host') || !names.split(';').includes('x-amz-date')) return names
  const { pathname, search } = new URL(url, 'http://x')
  assert.equal(search, '', 'a query needs an order')
  const canonical = [
    method,
    pathname.split('/').map(encoded).join('/'),
    '',
    ...names.split(';').map((name) => `${name}:${headers[name].trim().replace(/ +/g, ' ')}`),
    '',
    names,
    sha256(body),
  ].join('\n')
  const text = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n')
  const chain = [day, REGION, 'bedrock', 'aws4_request']
  const key = chain.reduce(hmac, `AWS4${KEYS.secretAccessKey}`)
  return hmac(key, text).toString('hex') === signature ? undefined : 'another signature'
}

let provider
let server
/** What the server said to each request. */
const verdicts = []

before(async () => {
  provider = await createProvider()
  server = createServer(async (request, response) => {
    const pieces = []
    for await (const piece of request) pieces.push(piece)
    const body = Buffer.concat(pieces)
    const refused = refusal(request, body)
    verdicts.push(refused)
    if (refused) {
      response.writeHead(403, { 'content-type': 'application/json' })
      return response.end(JSON.stringify({ message: refused }))
    }
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(provider.url + request.url, { method: 'POST', headers, body })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') })
    response.end(Buffer.from(await answer.arrayBuffer()))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
})

after(async () => {
  server.closeAllConnections()
  server.close()
  await provider.close()
})

async function ask(keys, change = (signed) => signed) {
  const aws = new AwsClient({ ...keys, service: 'bedrock', region: REGION })
  const scenario = encodeURIComponent('scenario:429, then an answer')
  const session = `signing-${verdicts.length}`
  const model = bedrock({
    baseURL: `http://127.0.0.1:${server.address().port}/s/${session}/${scenario}/v1`,
    // A colon, as in most names of Bedrock's models: it is escaped once in the path, and twice in
    // what is signed.
    model: 'anthropic.claude-sonnet-4-v1:0',
    maxRetries: 1,
    async sign({ url, ...request }) {
      const { headers } = await aws.sign(url, request)
      return change(Object.fromEntries(headers))
    },
  })
  const messages = [{ role: 'user', content: 'go — « grüße »' }]
  return runTurn({ model, messages }).result
}

test('each attempt is signed, and the signature is right', async () => {
  verdicts.length = 0
  const { status, text } = await ask(KEYS)
  assert.deepEqual([status, text], ['complete', 'ok'])
  assert.deepEqual(verdicts, [undefined, undefined])
})

test('another secret, or a request that was changed, is refused', async () => {
  verdicts.length = 0
  const { error } = await ask({ ...KEYS, secretAccessKey: 'another' })
  assert.deepEqual([error.code, error.details.status], ['model.status', 403])
  const later = await ask(KEYS, (headers) => ({ ...headers, accept: 'application/json' }))
  assert.equal(later.error.details.status, 403)
  assert.deepEqual(verdicts, ['another signature', 'another signature'])
})
