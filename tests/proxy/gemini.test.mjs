// Gemini through the proxy: its paths, keys, histories, loops and errors, streamed and whole.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, before, test } from 'node:test'
import { guardFetch } from 'turnlock/guard'
import { createProxy, toNodeListener } from 'turnlock/proxy'
import { GEMINI, LOOP, frames, looped } from './wires.mjs'

const ANSWER = 'Here is the answer.'
/** What the provider got, newest last. */
const requests = []
let reports = []
let answer
let base
let upstreamBase
const servers = []

async function listen(server) {
  servers.push(server)
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${server.address().port}`
}

before(async () => {
  upstreamBase = await listen(
    createServer(async (request, response) => {
      const pieces = []
      for await (const piece of request) pieces.push(piece)
      const text = Buffer.concat(pieces).toString()
      const { url, headers } = request
      const body = text && JSON.parse(text)
      requests.push({ url, headers, body, text })
      answer(response, { url, body })
    }),
  )
  const listener = toNodeListener(
    createProxy({
      upstream: ({ session }) => ({ url: upstreamBase, ...session.upstream }),
      authorize: (request) => JSON.parse(request.headers.get('x-session') ?? '{"tenant":"me"}'),
      onReport: (report) => reports.push(report),
    }),
    { onError() {} },
  )
  base = await listen(createServer(listener))
})

after(() => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

/** Answers with calls, or with a text where the request allows none. */
const model =
  (calls, more = {}) =>
  (response, { url, body }) => {
    const isAnswer = GEMINI.none(body)
    if (url.includes(':stream')) {
      const entry = isAnswer ? { text: [ANSWER] } : { calls, ...more }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const event of GEMINI.stream(entry, { n: 1 })) response.write(event)
      return response.end()
    }
    const whole = GEMINI.whole(isAnswer ? { text: ANSWER } : { calls, text: more.text?.[0] })
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(whole))
  }

async function ask(body, { stream = true, path, headers = {}, ...session } = {}) {
  requests.length = 0
  reports = []
  const sent = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await fetch(base + (path ?? (stream ? GEMINI.path : GEMINI.wholePath)), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-session': JSON.stringify({ tenant: 'me', mode: 'bound', ...session }),
      ...headers,
    },
    body: sent,
  })
  const text = await response.text()
  return { status: response.status, text, sent, report: reports[0], requests: [...requests] }
}

/** The text that a client reads, the calls that it finds, and the last usage. */
function read(text, stream) {
  const all = stream ? frames(text).map(({ data }) => JSON.parse(data)) : [JSON.parse(text)]
  const parts = all.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? [])
  return {
    said: parts.map((part) => (part.thought ? '' : (part.text ?? ''))).join(''),
    called: parts.flatMap(({ functionCall }) => functionCall?.name ?? []),
    usage: all.at(-1).usageMetadata,
    ends: all.at(-1).candidates?.[0]?.finishReason,
  }
}

for (const stream of [true, false]) {
  const form = stream ? 'streamed' : 'whole'

  test(`a call that may run, ${form}: passes byte for byte`, async () => {
    answer = model([LOOP], { text: ['Let me see.'] })
    const { text, sent, report, requests } = await ask(GEMINI.body(looped(1)), { stream })
    const direct = await fetch(upstreamBase + (stream ? GEMINI.path : GEMINI.wholePath), {
      method: 'POST',
      body: sent,
    })
    assert.equal(text, await direct.text())
    assert.equal(requests[0].text, sent)
    assert.deepEqual(read(text, stream).called, ['ls'])
    assert.deepEqual([report.route, report.calls, report.blocked], ['gemini', ['ls'], []])
    assert.equal(report.usage.length, 1)
  })

  for (const ids of [true, false]) {
    test(`a loop, ${form}, ${ids ? 'with' : 'without'} ids: is left out, and the answer follows`, async () => {
      answer = model([LOOP], { text: ['Let me see.'] })
      const body = GEMINI.body(looped(2), { ids })
      const { text, report, requests } = await ask(body, { stream })
      const { said, called, usage, ends } = read(text, stream)
      assert.deepEqual(called, [])
      assert.equal(said, stream ? `Let me see.${ANSWER}` : ANSWER)
      assert.equal(ends, 'STOP')
      assert.equal(report.forced, 'duplicate')
      assert.equal(report.blocked[0].repeats, 2)
      assert.equal(requests.length, 2)
      assert.deepEqual(requests[1].body.toolConfig, { functionCallingConfig: { mode: 'NONE' } })
      const sum = report.usage.reduce((all, { totalTokenCount }) => all + totalTokenCount, 0)
      assert.equal(usage.totalTokenCount, sum)
    })
  }

  test(`results that differ, ${form}: no loop`, async () => {
    answer = model([LOOP])
    const { text, report } = await ask(GEMINI.body(looped(4, (n) => `at ${n}`)), { stream })
    assert.deepEqual(read(text, stream).called, ['ls'])
    assert.equal(report.forced, null)
  })

  test(`a message of the user, ${form}: begins a new turn`, async () => {
    answer = model([LOOP])
    const more = [{ role: 'model', parts: [{ text: 'ok' }] }, GEMINI.user('again')]
    const { report } = await ask(GEMINI.body(looped(2), { more }), { stream })
    assert.equal(report.forced, null)
  })

  test(`a spent budget, ${form}: forbids calls in the first request, and keeps other settings`, async () => {
    answer = model([LOOP])
    const body = {
      ...GEMINI.body([['ls', { path: '/' }, 'a']]),
      tool_config: {
        function_calling_config: { mode: 'ANY' },
        retrieval_config: { language_code: 'de' },
      },
    }
    const { requests, report } = await ask(body, { stream, policy: { maxTools: 1 } })
    assert.equal(report.forced, 'budget')
    assert.equal(requests.length, 1)
    assert.deepEqual(requests[0].body.tool_config, {
      retrieval_config: { language_code: 'de' },
      functionCallingConfig: { mode: 'NONE' },
    })
    assert.equal(requests[0].body.toolConfig, undefined)
  })

  test(`a call without its result, ${form}: gets one, and the other contents stay`, async () => {
    answer = model([], { text: ['Fine.'] })
    const body = GEMINI.body([])
    const signed = {
      role: 'model',
      parts: [{ functionCall: { name: 'ls', args: {} }, thoughtSignature: 'c2ln' }],
    }
    body.contents.push(signed, GEMINI.user('and now?'))
    const { requests, report } = await ask(body, { stream, mode: 'repair' })
    const { contents } = requests[0].body
    assert.deepEqual(contents.slice(0, 2), body.contents.slice(0, 2))
    const results = contents.flatMap(({ parts }) =>
      parts.flatMap((part) => part.functionResponse ?? []),
    )
    assert.equal(results.length, 1)
    assert.equal(results[0].name, 'ls')
    assert.ok(report.repairs.some(({ code }) => code === 'TOOL_CALL_UNANSWERED'))
  })

  test(`observe, ${form}: reports and changes nothing`, async () => {
    answer = model([LOOP])
    const { text, report, requests } = await ask(GEMINI.body(looped(3)), {
      stream,
      mode: 'observe',
    })
    assert.deepEqual(read(text, stream).called, ['ls'])
    assert.equal(report.blocked[0].reason, 'duplicate')
    assert.equal(requests.length, 1)
  })
}

test('lines that Codex writes into results of Gemini are not compared', async () => {
  answer = model([LOOP])
  const results = looped(2, (n) => `Wall time: 0.${n} s\nnotes.txt`)
  assert.equal((await ask(GEMINI.body(results))).report.forced, 'duplicate')
})

test('defaults and coercions of a schema in capital letters count as the same call', async () => {
  answer = model([{ ...LOOP, args: { path: '.' } }])
  const body = GEMINI.body(
    looped(2).map(([name, , result]) => [name, { path: '.', deep: false }, result]),
  )
  const properties = { path: { type: 'STRING' }, deep: { type: 'BOOLEAN', default: false } }
  body.tools = [
    { function_declarations: [{ name: 'ls', parameters: { type: 'OBJECT', properties } }] },
  ]
  assert.equal((await ask(body)).report.forced, 'duplicate')
})

test('two calls of one response are judged one by one', async () => {
  answer = model([LOOP, { id: 'other', name: 'cat', args: {} }])
  const { text, report, requests } = await ask(GEMINI.body(looped(2)))
  assert.deepEqual(read(text, true).called, ['cat'])
  assert.equal(requests.length, 1)
  assert.deepEqual(report.calls, ['cat'])
})

// router-for-me/CLIProxyAPI#5199 (2026-08-23): results of parallel calls in another order.
// router-for-me/CLIProxyAPI#2104 (2026-03-12): results without the name of their call.
test('results in another order than their calls, or without names, are found by their ids', async () => {
  const round = (n, results) => [
    {
      role: 'model',
      parts: ['a', 'b'].map((path) => ({
        functionCall: { id: `${path}${n}`, name: 'ls', args: { path } },
      })),
    },
    {
      role: 'user',
      parts: results.map(([path, output, name]) => ({
        functionResponse: { id: `${path}${n}`, name, response: { output } },
      })),
    },
  ]
  for (const name of ['ls', '']) {
    const body = GEMINI.body([])
    body.contents.push(
      ...round(1, [
        ['b', 'B', name],
        ['a', 'A', name],
      ]),
      ...round(2, [
        ['a', 'A', name],
        ['b', 'B', name],
      ]),
    )
    answer = model([{ ...LOOP, args: { path: 'a' } }])
    const { report } = await ask(body, { mode: 'observe' })
    assert.equal(report.blocked[0]?.repeats, 2, `«${name}»`)
  }
})

// weave-os/router#733 (2026-08): the same loop in snake_case, with a reminder that is not the user's.
test('a loop in snake_case, with injected reminders, is one', async () => {
  const reminder = { text: '<system-reminder>Be brief.</system-reminder>' }
  const contents = GEMINI.body(looped(2)).contents.map(({ role, parts }) => ({
    role,
    parts: parts.flatMap(({ functionCall, functionResponse, text }) => {
      if (functionCall) return { function_call: functionCall }
      return functionResponse ? [{ function_response: functionResponse }, reminder] : { text }
    }),
  }))
  answer = model([LOOP])
  const { report, text } = await ask({ ...GEMINI.body([]), contents })
  assert.deepEqual([report.forced, read(text, true).called], ['duplicate', []])
})

// cloudwego/eino-ext#571 (2025-11-27) and microsoft/vscode#299295 (2026-03-04): results of parallel
// calls in contents of their own, or missing: 400.
test('results of parallel calls in contents of their own are put together', async () => {
  answer = model([], { text: ['Fine.'] })
  const body = GEMINI.body([])
  const calls = ['a', 'b', 'c'].map((path) => ({ functionCall: { name: 'ls', args: { path } } }))
  const result = (output) => ({ functionResponse: { name: 'ls', response: { output } } })
  body.contents.push(
    { role: 'model', parts: calls },
    { role: 'user', parts: [result('A')] },
    { role: 'user', parts: [result('B')] },
  )
  const { requests } = await ask(body, { mode: 'repair' })
  const [, made, results] = requests[0].body.contents
  assert.deepEqual(made.parts, calls)
  assert.equal(results.parts.length, 3)
  assert.deepEqual(
    results.parts.slice(0, 2).map((part) => part.functionResponse.response.output),
    ['A', 'B'],
  )
})

// googleapis/python-genai#1791 (2025-11-30): the chats of Google's clients record a content for each event.
test('a response in several contents is one: its history passes, and its loop is bounded', async () => {
  const call = { functionCall: { name: 'ls', args: LOOP.args }, thoughtSignature: 'c2ln' }
  for (const behind of [
    { text: '', thoughtSignature: 'c2ln' },
    { text: 'I look.' },
    { text: 'Hm.', thought: true },
    { executableCode: { language: 'PYTHON', code: '1' } },
  ]) {
    const body = GEMINI.body([])
    for (let n = 0; n < 2; n++) {
      body.contents.push(
        { role: 'model', parts: [call] },
        { role: 'model', parts: [behind] },
        { role: 'user', parts: [{ functionResponse: { name: 'ls', response: { output: 'a' } } }] },
      )
    }
    answer = model([LOOP])
    const { requests, report, sent } = await ask(body)
    assert.equal(requests[0].text, sent, JSON.stringify(behind))
    assert.deepEqual([report.repairs, report.forced], [[], 'duplicate'])
  }
})

test('images in a result, or beside it, are its content', async () => {
  const data = (n) => ({ inlineData: { mimeType: 'image/png', data: `aW1n${n}` } })
  const result = (parts) => ({
    functionResponse: { name: 'ls', response: { output: 'done' }, ...(parts && { parts }) },
  })
  const shapes = {
    within: (n) => [result([data(n)])],
    beside: (n) => [result(), data(n)],
    'with the words of the AI SDK': (n) => [
      result(),
      data(n),
      { text: 'Tool executed successfully and returned this image as a response' },
    ],
  }
  for (const [name, shape] of Object.entries(shapes)) {
    for (const [forced, image] of [
      ['duplicate', () => 0],
      [null, (n) => n],
    ]) {
      const body = GEMINI.body([])
      for (let n = 0; n < 2; n++) {
        body.contents.push(
          { role: 'model', parts: [{ functionCall: { name: 'ls', args: LOOP.args } }] },
          { role: 'user', parts: shape(image(n)) },
        )
      }
      answer = model([LOOP])
      assert.equal((await ask(body)).report.forced, forced, name)
    }
  }
})

// Google's samples for its REST API have `contents` and `parts` as one object.
test('one part as an object is a list of one', async () => {
  answer = model([LOOP])
  const body = GEMINI.body(looped(2))
  for (const content of body.contents) content.parts = content.parts[0]
  body.tools = body.tools[0]
  const { report } = await ask(body)
  assert.deepEqual([report.forced, report.error], ['duplicate', undefined])
  body.contents.push(
    { role: 'model', parts: { text: 'ok' } },
    { role: 'user', parts: { text: 'again' } },
  )
  assert.equal((await ask(body)).report.forced, null)
  const single = { ...body, contents: { role: 'user', parts: { text: 'go' } } }
  assert.deepEqual((await ask(single)).report.calls, ['ls'])
})

test('an answer that the provider refuses is the notice', async () => {
  answer = (response, { body }) => {
    if (!GEMINI.none(body)) return model([LOOP])(response, { url: ':stream', body })
    response.writeHead(429, { 'content-type': 'application/json' })
    response.end('{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}')
  }
  const { text } = await ask(GEMINI.body(looped(2)))
  const { said, called, ends } = read(text, true)
  assert.deepEqual([called, ends], [[], 'STOP'])
  assert.match(said, /did not run/)
})

test('the key: the proxy sends its own as x-goog-api-key, and that of the client never', async () => {
  answer = model([], { text: ['Fine.'] })
  const path = `${GEMINI.path}&key=AIzaClient`
  const client = { 'x-goog-api-key': 'AIzaClient', authorization: 'Bearer mine' }
  const own = await ask(GEMINI.body([]), { path, headers: client, upstream: { apiKey: 'edge' } })
  const [{ url, headers }] = own.requests
  assert.equal(headers['x-goog-api-key'], 'edge')
  assert.deepEqual([headers.authorization, url], [undefined, GEMINI.path])
  const without = await ask(GEMINI.body([]), { path, headers: client })
  assert.equal(without.requests[0].headers['x-goog-api-key'], undefined)
  assert.equal(without.requests[0].url, GEMINI.path)
  const passed = await ask(GEMINI.body([]), {
    path,
    headers: client,
    upstream: { passAuthorization: true },
  })
  assert.equal(passed.requests[0].headers['x-goog-api-key'], 'AIzaClient')
  assert.equal(passed.requests[0].url, path)
  const vertex = '/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-pro'
  const bearer = await ask(GEMINI.body([]), {
    path: `${vertex}:streamGenerateContent?alt=sse`,
    upstream: { apiKey: 'token' },
  })
  assert.equal(bearer.requests[0].headers.authorization, 'Bearer token')
  assert.equal(bearer.report.route, 'gemini')
})

test('keys in a query, of the old and the new form, stay at the edge on every path', async () => {
  answer = (response) => response.end('{}')
  const upstream = { apiKey: 'edge' }
  for (const path of [
    '/v1beta/models?key=AQ.client',
    '/v1beta/files?key=AIzaClient&pageSize=3',
    '/v1beta/models/gemini-2.5-flash:countTokens?$key=client',
    '/v1beta/interactions?access_token=client',
  ]) {
    const [{ url }] = (await ask('{}', { path, upstream })).requests
    assert.doesNotMatch(url, /client/i, path)
    assert.equal(/pageSize=3/.test(url), /pageSize/.test(path))
  }
  const vertex = '/v1/projects/p/locations/l/publishers'
  for (const [path, headers] of [
    [`${vertex}/google/models/gemini-3-pro:generateContent?key=AIzaClient`, {}],
    [`${vertex}/google/models/gemini-3-pro:generateContent`, { 'x-goog-api-key': 'client' }],
    [`${vertex}/anthropic/models/claude:streamRawPredict`, { 'anthropic-version': '2023-06-01' }],
  ]) {
    const [sent] = (await ask('{}', { path, headers, upstream })).requests
    assert.equal(sent.headers.authorization, 'Bearer edge', path)
    assert.deepEqual(
      [sent.headers['x-goog-api-key'], sent.headers['x-api-key']],
      [undefined, undefined],
    )
    assert.doesNotMatch(sent.url, /client/i)
  }
})

test('paths: methods in any spelling are watched, other methods pass', async () => {
  answer = model([LOOP])
  const body = GEMINI.body(looped(2))
  for (const path of [
    '/v1beta/models/gemini-2.5-flash%3AstreamGenerateContent?alt=sse',
    '/v1beta//models/gemini-2.5-flash:streamGenerateContent/?alt=sse',
    '/v1beta/tunedModels/mine:streamGenerateContent?alt=sse',
    '/v1/projects/p/locations/l/endpoints/17:streamGenerateContent?alt=sse',
    '/v1beta/models/gemini/gemini-2.5-flash:streamGenerateContent?alt=sse',
    '/v1beta/google/gemini-2.5-flash:streamGenerateContent?alt=sse',
  ]) {
    assert.equal((await ask(body, { path })).report?.forced, 'duplicate', path)
  }
  for (const path of [
    '/v1beta/models/gemini-2.5-flash:countTokens',
    '/v1internal:generateContent',
  ]) {
    const { report, requests, sent } = await ask(body, { path })
    assert.deepEqual([report, requests[0].text], [undefined, sent], path)
  }
})

test('a stream without alt=sse: passes in repair, and is refused in bound', async () => {
  answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify([GEMINI.whole({ calls: [LOOP] })]))
  }
  const path = GEMINI.path.replace('?alt=sse', '')
  const passed = await ask(GEMINI.body([]), { path, mode: 'repair' })
  assert.deepEqual(GEMINI.called(JSON.parse(passed.text)[0]), ['ls'])
  const refused = await ask(GEMINI.body([]), { path })
  assert.doesNotMatch(refused.text, /functionCall/)
  assert.equal(refused.report.error, 'proxy.response_format')
})

test('errors are in the form of the API', async () => {
  answer = model([])
  const { status, text } = await ask('{', {})
  const { error } = JSON.parse(text)
  assert.deepEqual([status, error.code, error.status], [400, 400, 'INVALID_ARGUMENT'])
  assert.equal(error.details[0].reason, 'request.json')
  const refused = '{"error":{"code":400,"message":"No.","status":"INVALID_ARGUMENT"}}'
  answer = (response) => {
    response.writeHead(400, { 'content-type': 'application/json' })
    response.end(refused)
  }
  assert.equal((await ask(GEMINI.body([]))).text, refused)
})

test('guardFetch watches the requests of a client in its process', async () => {
  answer = model([LOOP])
  let report
  const guarded = guardFetch(fetch, { onReport: (own) => (report = own) })
  const body = JSON.stringify(GEMINI.body(looped(2)))
  const init = { method: 'POST', headers: { 'x-goog-api-key': 'mine' }, body }
  const response = await guarded(upstreamBase + GEMINI.path, init)
  const { said, called } = read(await response.text(), true)
  assert.deepEqual([said, called, report.forced], [ANSWER, [], 'duplicate'])
  assert.equal(requests.at(-1).headers['x-goog-api-key'], 'mine')
})
