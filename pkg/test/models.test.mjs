// The model clients: where each sends what, and its key.
import assert from 'node:assert/strict'
import test from 'node:test'
import * as turnlock from 'turnlock'

/** The requests that a turn with a model sends; the answer is the same each time. */
async function asked(make, options, answer = () => new Response('', { status: 400 })) {
  const sent = []
  const fetch = async (url, { headers, body, method, redirect }) => {
    sent.push({ url, headers, method, redirect, body: JSON.parse(body) })
    return answer()
  }
  const model = turnlock[make]({ model: 'm/1:2', maxRetries: 0, fetch, ...options })
  const messages = [{ role: 'user', content: 'hi' }]
  const turn = turnlock.runTurn({ model, messages, tools: {} })
  const { error } = await turn.result
  return { sent, error, model }
}

const said = { role: 'user', content: 'hi' }
const KEY = { apiKey: 'sk' }

const CLIENTS = {
  openaiChat: {
    options: { baseURL: 'https://x.test/v1' },
    url: 'https://x.test/v1/chat/completions',
    ...{ key: ['authorization', 'Bearer sk'], accept: 'text/event-stream', model: true },
    body: { messages: [said] },
  },
  anthropic: {
    url: 'https://api.anthropic.com/v1/messages',
    ...{ key: ['x-api-key', 'sk'], accept: 'text/event-stream', model: true },
    body: { max_tokens: 4096 },
  },
  openaiResponses: {
    url: 'https://api.openai.com/v1/responses',
    ...{ key: ['authorization', 'Bearer sk'], accept: 'text/event-stream', model: true },
    body: { store: false, stream: true, input: [said], include: ['reasoning.encrypted_content'] },
  },
  gemini: {
    url: 'https://generativelanguage.googleapis.com/v1beta/m/1%3A2:streamGenerateContent?alt=sse',
    ...{ key: ['x-goog-api-key', 'sk'], accept: 'text/event-stream' },
    body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  },
  bedrock: {
    options: { region: 'eu-west-1' },
    url: 'https://bedrock-runtime.eu-west-1.amazonaws.com/model/m%2F1%3A2/converse-stream',
    ...{ key: ['authorization', 'Bearer sk'], accept: 'application/vnd.amazon.eventstream' },
    body: { messages: [{ role: 'user', content: [{ text: 'hi' }] }] },
  },
  cohere: {
    url: 'https://api.cohere.com/v2/chat',
    ...{ key: ['authorization', 'Bearer sk'], accept: 'text/event-stream', model: true },
    body: { stream: true, messages: [said] },
  },
  ollama: {
    url: 'http://localhost:11434/api/chat',
    ...{ key: ['authorization', 'Bearer sk'], accept: 'application/x-ndjson', model: true },
    body: { stream: true, messages: [said] },
  },
}

for (const [make, { options = {}, url, key, accept, model, body }] of Object.entries(CLIENTS)) {
  test(`${make}: the address, the key, what the body begins with`, async () => {
    const own = { ...options, headers: { 'x-own': 'yes' }, body: { own: { a: 1 } } }
    const { sent } = await asked(make, { ...own, ...KEY })
    assert.equal(sent.length, 1)
    const [request] = sent
    assert.deepEqual(
      [request.url, request.method, request.redirect, request.headers['x-own']],
      [url, 'POST', 'manual', 'yes'],
    )
    assert.equal(request.headers.accept, accept)
    const [name, value] = key
    assert.equal(request.headers[name], value)
    assert.equal(Object.values(request.headers).filter((one) => one.includes('sk')).length, 1)
    assert.equal(request.body.model, model ? 'm/1:2' : undefined)
    for (const [member, wanted] of Object.entries({ ...body, own: { a: 1 } })) {
      assert.deepEqual(request.body[member], wanted, member)
    }
    for (const missing of [undefined, '', 7]) {
      const given = { ...options, ...KEY, model: missing }
      assert.throws(() => turnlock[make](given), { message: /^`model`: / })
    }
    const keyless = make === 'bedrock' ? { baseURL: 'https://signs.test' } : {}
    const without = await asked(make, { ...options, ...keyless })
    assert.ok(!('authorization' in without.sent[0].headers))
    assert.ok(!Object.keys(without.sent[0].headers).some((one) => one.endsWith('api-key')))
    assert.throws(() => turnlock[make]({ ...options, model: 'm', baseURL: 'x.test/v1' }), {
      code: 'options.invalid',
      message: /^`baseURL`: /,
    })
  })
}

test('openaiChat takes the relatives of its wire by name, and no other dialect', async () => {
  const baseURL = 'https://x.test/v1'
  for (const dialect of ['openai-chat', 'deepseek', 'mistral', 'groq', 'xai', 'chat-template']) {
    const { sent, model } = await asked('openaiChat', { baseURL, dialect })
    assert.equal(model.dialect, dialect)
    assert.equal(sent[0].url, `${baseURL}/chat/completions`)
  }
  for (const dialect of ['gemini', 'anthropic', 'langchain', 'constructor', 7]) {
    assert.throws(() => turnlock.openaiChat({ baseURL, model: 'm', dialect }), {
      code: 'options.invalid',
      message: /^`dialect`: expected one of openai-chat, /,
    })
  }
})

test('bedrock: the host signs what is sent', async () => {
  const signed = []
  const sign = async (request) => {
    signed.push(request)
    return { authorization: 'AWS4-HMAC-SHA256 x', 'x-amz-date': '20260101T000000Z' }
  }
  const { sent } = await asked('bedrock', { region: 'us-east-1', sign })
  const [{ url, headers, body }] = sent
  assert.equal(headers.authorization, 'AWS4-HMAC-SHA256 x')
  assert.equal(headers['x-amz-date'], '20260101T000000Z')
  assert.deepEqual([signed[0].url, signed[0].method], [url, 'POST'])
  assert.deepEqual(JSON.parse(signed[0].body), body)
  assert.equal(signed[0].headers['content-type'], 'application/json')
  const asHeaders = async (request) => new Headers(await sign(request))
  const again = await asked('bedrock', { region: 'us-east-1', sign: asHeaders })
  assert.equal(again.sent[0].headers.authorization, 'AWS4-HMAC-SHA256 x')
  // The provider would only say that a token is missing.
  assert.throws(() => turnlock.bedrock({ model: 'm', region: 'us-east-1' }), {
    message: /^`sign`: /,
  })
  const fails = () => {
    throw new Error('the secret is hunter2')
  }
  const failed = await asked('bedrock', { region: 'us-east-1', sign: fails })
  assert.equal(failed.sent.length, 0)
  assert.equal(failed.error.code, 'model.unreachable')
  assert.ok(!failed.error.message.includes('hunter2'), failed.error.message)
  for (const options of [{}, { region: 'x/y' }, { region: 'us-east-1', sign: 'x' }]) {
    assert.throws(() => turnlock.bedrock({ model: 'm', ...options }), { code: 'options.invalid' })
  }
})
