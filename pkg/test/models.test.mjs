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
    key: ['authorization', 'Bearer sk'],
    accept: 'text/event-stream',
    model: true,
    body: { messages: [said] },
  },
  anthropic: {
    url: 'https://api.anthropic.com/v1/messages',
    key: ['x-api-key', 'sk'],
    accept: 'text/event-stream',
    model: true,
    body: { max_tokens: 4096 },
  },
  openaiResponses: {
    url: 'https://api.openai.com/v1/responses',
    key: ['authorization', 'Bearer sk'],
    accept: 'text/event-stream',
    model: true,
    body: { store: false, stream: true, input: [said], include: ['reasoning.encrypted_content'] },
  },
  gemini: {
    url: 'https://generativelanguage.googleapis.com/v1beta/m/1%3A2:streamGenerateContent?alt=sse',
    key: ['x-goog-api-key', 'sk'],
    accept: 'text/event-stream',
    body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  },
  bedrock: {
    options: { region: 'eu-west-1' },
    url: 'https://bedrock-runtime.eu-west-1.amazonaws.com/model/m%2F1%3A2/converse-stream',
    key: ['authorization', 'Bearer sk'],
    accept: 'application/vnd.amazon.eventstream',
    body: { messages: [{ role: 'user', content: [{ text: 'hi' }] }] },
  },
  cohere: {
    url: 'https://api.cohere.com/v2/chat',
    key: ['authorization', 'Bearer sk'],
    accept: 'text/event-stream',
    model: true,
    body: { stream: true, messages: [said] },
  },
  ollama: {
    url: 'http://localhost:11434/api/chat',
    key: ['authorization', 'Bearer sk'],
    accept: 'application/x-ndjson',
    model: true,
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

test('providerModel sends what the function of the provider sends, for every provider', async () => {
  for (const { dialect, client, baseURL, path } of turnlock.PROVIDERS) {
    if (!client) {
      const make = () => turnlock.providerModel({ dialect, model: 'm' })
      assert.throws(make, { code: 'options.invalid', message: /^`dialect`: expected one of / })
      continue
    }
    const own = {
      baseURL: baseURL?.replace('{region}', 'eu-west-1') ?? 'https://x.test/v1',
      ...KEY,
    }
    const general = await asked('providerModel', { ...own, dialect })
    const named = await asked(client, client === 'openaiChat' ? { ...own, dialect } : own)
    assert.equal(general.sent.length, 1, dialect)
    // Anthropic's own function names its limit; the core fills in the same one.
    assert.deepEqual(general.sent, named.sent, dialect)
    assert.ok(general.sent[0].url.endsWith(path.split('{model}').at(-1)), dialect)
    assert.equal(general.model.threads, named.model.threads)
  }
})

test('providerModel needs an address where the provider has none of its own', () => {
  for (const dialect of ['bedrock', 'chat-template']) {
    assert.throws(() => turnlock.providerModel({ dialect, model: 'm', ...KEY }), {
      code: 'options.invalid',
      message: /^`baseURL`: expected the address of the server/,
    })
  }
})

test('providerModel asks from a page where the provider has a header for it', async () => {
  for (const dialect of ['anthropic', 'gemini']) {
    const { sent } = await asked('providerModel', { dialect, dangerouslyAllowBrowser: true })
    const names = Object.keys(sent[0].headers).filter((name) => name.includes('dangerous'))
    assert.equal(names.length, dialect === 'anthropic' ? 1 : 0)
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

test('a query of the base address stays behind the path, and slashes are not doubled', async () => {
  const url = async (make, baseURL) => (await asked(make, { baseURL })).sent[0].url
  const chat = 'https://x.test/v1/chat/completions'
  assert.equal(await url('openaiChat', 'https://x.test/v1//'), chat)
  assert.equal(await url('openaiChat', 'https://x.test/v1?api-version=1'), `${chat}?api-version=1`)
  assert.equal(await url('openaiChat', 'https://x.test/v1/?a=1&b=/'), `${chat}?a=1&b=/`)
  assert.equal(await url('openaiChat', 'https://x.test/v1/#part'), chat)
  assert.equal(
    await url('gemini', 'https://x.test/v1?a=1'),
    'https://x.test/v1/m/1%3A2:streamGenerateContent?alt=sse&a=1',
  )
})

test('a key with other characters is misuse, and is not shown', () => {
  for (const apiKey of ['sk-very-secret\n', 'sk very-secret', 'sk-véry-secret', 7]) {
    for (const [make, { options }] of Object.entries(CLIENTS)) {
      assert.throws(
        () => turnlock[make]({ model: 'm', ...options, apiKey }),
        ({ code, message }) =>
          code === 'options.invalid' && /`apiKey`/.test(message) && !/secret|7/.test(message),
      )
    }
  }
})

test('a key that the provider repeats is shown nowhere', async () => {
  const key = 'sk-live-0123456789'
  const said = { error: { message: `Incorrect API key provided: ${key}. Header: Bearer ${key}` } }
  for (const [make, { options }] of Object.entries(CLIENTS)) {
    for (const own of [{ apiKey: key }, { headers: { 'X-Api-Key': key } }]) {
      if (make === 'bedrock' && !own.apiKey) continue
      const fetch = async () => Response.json(said, { status: 401 })
      const model = turnlock[make]({ model: 'm', ...options, ...own, fetch })
      const traces = []
      const turn = turnlock.runTurn({
        model,
        messages: [{ role: 'user', content: 'hi' }],
        onTrace: (event) => traces.push(event),
      })
      const events = []
      for await (const event of turn) events.push(event)
      const { error } = await turn.result
      assert.match(error.message, /Incorrect API key provided: \[key\]/)
      assert.ok(!JSON.stringify([events, traces, error]).includes(key), make)
    }
  }
})

test('a key that the provider repeats inside a stream is shown nowhere, nor its beginning', async () => {
  const key = 'sk-live-0123456789'
  const sse = (type) => (data) => [
    `${type ? `event: ${type}\n` : ''}data: ${JSON.stringify(data)}\n\n`,
    'text/event-stream',
  ]
  const line = (data) => [`${JSON.stringify(data)}\n`, 'application/x-ndjson']
  /** Each provider's error inside a response. */
  const failed = {
    openaiChat: (message) => sse()({ error: { message } }),
    openaiResponses: (message) => sse('error')({ type: 'error', code: 'invalid', message }),
    anthropic: (message) =>
      sse('error')({ type: 'error', error: { type: 'authentication_error', message } }),
    gemini: (message) => sse()({ error: { code: 401, message, status: 'UNAUTHENTICATED' } }),
    bedrock: (message) => line({ validationException: { message } }),
    cohere: (message) =>
      sse()({ type: 'message-end', delta: { finish_reason: 'ERROR', error: message } }),
    ollama: (message) => line({ error: message }),
  }
  for (const [make, { options }] of Object.entries(CLIENTS)) {
    // The second is cut within the key.
    for (const before of ['Incorrect: ', 'x'.repeat(990)]) {
      const [body, type] = failed[make](`${before}${key} of Bearer ${key}`)
      const fetch = async () => new Response(body, { headers: { 'content-type': type } })
      const model = turnlock[make]({ model: 'm', maxRetries: 0, ...options, apiKey: key, fetch })
      const traces = []
      const turn = turnlock.runTurn({
        model,
        messages: [{ role: 'user', content: 'hi' }],
        onTrace: (event) => traces.push(event),
      })
      const events = []
      for await (const event of turn) events.push(event)
      const { error } = await turn.result
      assert.ok(error.message.includes(`${before}[key]`), `${make}: ${error.message}`)
      assert.ok(!JSON.stringify([events, traces, error]).includes(key.slice(0, 8)), make)
    }
  }
})

test('the wait that a provider asks for is in the details of the error', async () => {
  const headers = { 'retry-after': '45' }
  const answer = () => new Response('', { status: 429, headers })
  const { sent, error } = await asked('openaiChat', {
    baseURL: 'https://x.test/v1',
    maxRetries: 2,
    fetch: async () => answer(),
  })
  assert.equal(sent.length, 0)
  assert.deepEqual(error.details, { status: 429, retryAfterMs: 45_000 })
})

test('each model that a turn asked is in its trace', async () => {
  const messages = [{ role: 'user', content: 'hi' }]
  const of = (make, model, answer) => {
    const options = CLIENTS[make].options ?? {}
    return turnlock[make]({ ...options, model, apiKey: 'sk', maxRetries: 0, fetch: answer })
  }
  const refused = async () => new Response('', { status: 503 })
  const says = async () => {
    const chunk = (own) => `data: ${JSON.stringify({ choices: [{ index: 0, ...own }] })}\n\n`
    const body =
      chunk({ delta: { content: 'I may' } }) + chunk({ delta: {}, finish_reason: 'length' })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
  const calls = []
  const turn = turnlock.runTurn({
    model: of('anthropic', 'first', refused),
    fallbacks: [of('gemini', 'second', refused), of('openaiChat', 'third', says)],
    messages,
    onTrace: (event) => event.type === 'llm_call' && calls.push(event),
  })
  const events = []
  for await (const event of turn) events.push(event)
  const result = await turn.result
  assert.deepEqual(
    calls.map(({ model, status, inference }) => [model, status, inference]),
    [
      ['first', 'failed', 1],
      ['second', 'failed', 1],
      ['third', 'complete', 1],
    ],
  )
  const told = { model: 'third', finishReason: 'length', rawFinishReason: 'length' }
  for (const one of [result, events.at(-1)]) {
    const { model, finishReason, rawFinishReason } = one
    assert.deepEqual({ model, finishReason, rawFinishReason }, told)
  }
  assert.equal(calls[2].raw_finish_reason, 'length')
  const model = turnlock.customModel(async function* () {}, { threads: true })
  for (const own of [
    { fallbacks: model },
    { fallbacks: [{}] },
    { fallbacks: [model], strategy: 'thread', conversationId: 'c' },
  ]) {
    assert.throws(() => turnlock.runTurn({ model, messages, ...own }), {
      code: 'options.invalid',
      message: /^`fallbacks`: /,
    })
  }
})

test("what a host's model throws is `model.failed`, whenever it throws it", async () => {
  const broken = () => {
    throw new Error('out of memory')
  }
  const models = {
    'before it generates': [broken, ''],
    'at once': [
      async function* () {
        broken()
      },
      '',
    ],
    'after a text': [
      async function* () {
        yield { type: 'text', text: 'so far' }
        broken()
      },
      'so far',
    ],
  }
  for (const [when, [generate, text]] of Object.entries(models)) {
    const model = turnlock.customModel(generate)
    const result = await turnlock.runTurn({ model, messages: [said] }).result
    const { status, error, fullContent } = result
    assert.deepEqual(
      [status, error.code, error.message, fullContent],
      ['failed', 'model.failed', 'out of memory', text],
      when,
    )
  }
  const model = turnlock.customModel(() => ({}))
  const { error } = await turnlock.runTurn({ model, messages: [said] }).result
  assert.equal(error.code, 'model.failed')
})
