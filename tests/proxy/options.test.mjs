// Options, sessions, pages, providers that fall silent, clients that leave.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { createProxy, isTurnlockError } from 'turnlock/proxy'
import { LOOP, looped, WIRES } from './wires.mjs'

const me = () => ({ tenant: 'me' })
const UPSTREAM = 'https://provider.example'
const ask = (
  proxy,
  { wire = 'chat', headers = {}, body, signal, url = 'https://edge.example' } = {},
) =>
  proxy(
    new Request(url + WIRES[wire].path, {
      method: 'POST',
      headers,
      signal,
      body: body ?? JSON.stringify(WIRES[wire].body(looped(1))),
    }),
  )
/** A stream that says this, and then nothing until it is given up. */
const silent = (text, given = {}) =>
  new ReadableStream({
    start(controller) {
      if (text) controller.enqueue(new TextEncoder().encode(text))
    },
    cancel: () => (given.cancelled = true),
  })
/** A provider whose body ends with its request's signal, as `fetch` makes it. */
const providerOf =
  (text, given = {}) =>
  async (_, { signal }) => {
    const body = silent(text, given).pipeThrough(new TransformStream(), { signal })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }

test('misuse of options is refused, with the path of the option', () => {
  const good = { upstream: UPSTREAM, authorize: me }
  createProxy(good)
  for (const [wrong, path] of [
    [{ upstream: undefined }, 'upstream'],
    [{ upstream: 'api.openai.com/v1' }, 'upstream.url'],
    [{ upstream: 'ftp://provider.example' }, 'upstream.url'],
    [{ upstream: { url: UPSTREAM, key: 'x' } }, 'upstream.key'],
    [{ authorize: undefined }, 'authorize'],
    [{ mode: 'fix' }, 'mode'],
    [{ policy: { maxRepeats: 0 } }, 'policy.maxRepeats'],
    [{ policy: { maxTools: -1 } }, 'policy.maxTools'],
    [{ policy: { maxCalls: 1 } }, 'policy.maxCalls'],
    [{ limits: { idleMs: 0 } }, 'limits.idleMs'],
    [{ limits: { idleMs: 2 ** 31 } }, 'limits.idleMs'],
    [{ basePath: 'llm' }, 'basePath'],
    [{ clientGone: 'drain' }, 'clientGone'],
    [{ cors: { origins: ['x'] } }, 'cors.origins'],
    [{ onreport: me }, 'onreport'],
  ]) {
    assert.throws(
      () => createProxy({ ...good, ...wrong }),
      (error) =>
        isTurnlockError(error) && error.code === 'options.invalid' && error.message.includes(path),
      path,
    )
  }
})

test('a session decides mode, policy and provider; its key is that of the proxy alone', async () => {
  const seen = []
  const proxy = createProxy({
    upstream: ({ session, route }) => ({
      url: `https://${session.tenant}.example/${route}/v1`,
      ...(session.tenant === 'own' ? { passAuthorization: true } : { apiKey: 'edge' }),
      headers: { 'x-added': 'yes' },
    }),
    authorize: ({ headers }) => {
      const tenant = headers.get('x-tenant')
      return tenant && { tenant, mode: 'bound', policy: { maxTools: 1 } }
    },
    onReport: (report) => seen.push(report),
    basePath: '/llm',
    fetch: async (url, init) => {
      seen.push({
        url,
        headers: Object.fromEntries(init.headers),
        text: new TextDecoder().decode(init.body),
      })
      return new Response('{}')
    },
  })
  const url = 'https://edge.example/llm'
  for (const tenant of ['a', 'own']) {
    const headers = { 'x-tenant': tenant, authorization: 'Bearer client' }
    await (await ask(proxy, { url, headers })).text()
    const [asked, report] = seen.splice(0)
    assert.equal(asked.url, `https://${tenant}.example/chat/v1/chat/completions`)
    assert.equal(asked.headers.authorization, tenant === 'own' ? 'Bearer client' : 'Bearer edge')
    assert.equal(asked.headers['x-added'], 'yes')
    assert.equal(JSON.parse(asked.text).tool_choice, 'none')
    assert.deepEqual([report.mode, report.tenant, report.forced], ['bound', tenant, 'budget'])
  }
  assert.equal((await ask(proxy, { url })).status, 401)
  assert.equal((await ask(proxy, { url: 'https://edge.example' })).status, 404)
  assert.equal(seen.length, 0)
})

test('a page of another site may call only if it is listed', async () => {
  const options = { upstream: UPSTREAM, authorize: me, fetch: async () => new Response('{}') }
  const headers = { origin: 'https://app.example' }
  const refused = await ask(createProxy(options), { headers })
  assert.equal(refused.status, 403)
  const { message } = (await refused.json()).error
  assert.match(message, /https:\/\/app\.example.*`cors\.origins` of `createProxy`/)
  assert.doesNotMatch(message, /createHandler/)
  const open = createProxy({ ...options, cors: { origins: ['https://app.example'] } })
  const preflight = await open(
    new Request('https://edge.example/v1/chat/completions', {
      method: 'OPTIONS',
      headers: {
        ...headers,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,x-stainless-os',
      },
    }),
  )
  assert.equal(preflight.status, 204)
  assert.match(preflight.headers.get('access-control-allow-headers'), /x-stainless-os/)
  const response = await ask(open, { headers })
  assert.equal(response.headers.get('access-control-allow-origin'), 'https://app.example')
  assert.match(response.headers.get('access-control-expose-headers'), /x-turnlock-report/)
  assert.equal(await response.text(), '{}')
  const hosts = createProxy({ ...options, hosts: ['llm.example'] })
  const { code, message: denied } = (await (await ask(hosts)).json()).error
  assert.equal(code, 'host.denied')
  assert.match(denied, /`hosts` of `createProxy`, or to `--allow-host` of `turnlock proxy`/)
})

test('a response that nobody reads keeps no process', () => {
  const code = `import { createProxy } from 'turnlock/proxy'
    const proxy = createProxy({
      upstream: 'https://provider.example',
      authorize: () => ({ tenant: 'me' }),
      fetch: async () => new Response('{}'),
    })
    const body = JSON.stringify({ model: 'm', messages: [] })
    for (const path of ['chat/completions', 'embeddings']) {
      const asked = new Request('https://edge.example/v1/' + path, { method: 'POST', body })
      console.log((await proxy(asked)).status)
    }`
  // The limit is no measure: without an end it would be waited for for ever.
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
    timeout: 120_000,
  })
  assert.deepEqual([run.stdout, run.signal, run.status], ['200\n200\n', null, 0], run.stderr)
})

test('a provider that does not begin is 504, one that falls silent breaks its response', async () => {
  const limits = { firstByteMs: 30, idleMs: 30, keepAliveMs: 10 }
  const options = { upstream: UPSTREAM, authorize: me, limits }
  for (const wire of Object.keys(WIRES)) {
    const never = createProxy({
      ...options,
      fetch: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        }),
    })
    const late = await ask(never, { wire })
    assert.deepEqual([late.status, (await late.json()).error.code], [504, 'model.timeout'])
    for (const mode of ['observe', 'bound']) {
      // In the middle of a call, whose frames are held in `bound`.
      const whole = WIRES[wire].stream({ calls: [LOOP] }, { n: 1, body: {} }).join('')
      const begun = whole.slice(0, whole.indexOf('deep'))
      const reports = []
      const proxy = createProxy({
        ...options,
        mode,
        onReport: (report) => reports.push(report),
        fetch: providerOf(begun),
      })
      const response = await ask(proxy, { wire })
      let got = ''
      const reading = async () => {
        const decoder = new TextDecoder()
        for await (const piece of response.body) got += decoder.decode(piece, { stream: true })
      }
      await assert.rejects(reading(), { code: 'model.timeout' })
      if (mode === 'observe') assert.equal(got, begun)
      // The call whose end is missing is withheld.
      else assert.ok(!got.includes(LOOP.id) && !got.includes('model.timeout'), got)
      assert.deepEqual([reports[0].outcome, reports[0].error], ['failed', 'model.timeout'])
    }
  }
})

test('a path that is not watched: a provider that falls silent breaks its response', async () => {
  const errors = []
  const given = {}
  const proxy = createProxy({
    upstream: UPSTREAM,
    authorize: me,
    limits: { idleMs: 30 },
    onError: ({ code }) => errors.push(code),
    // It does not look at the signal.
    fetch: async () => new Response(silent('begun', given)),
  })
  const response = await proxy(new Request('https://edge.example/v1/files/f/content'))
  const reader = response.body.getReader()
  assert.equal(new TextDecoder().decode((await reader.read()).value), 'begun')
  await assert.rejects(reader.read(), { code: 'model.timeout' })
  assert.deepEqual([errors, given.cancelled], [['model.timeout'], true])
})

/** A provider whose first response is a call that was made before, and whose second is `body`. */
const again = (wire, body) => {
  let asked = 0
  return async () => new Response(asked++ ? body : JSON.stringify(wire.whole({ calls: [LOOP] })))
}

test('an answer that is asked for, whole: it may not fall silent, nor be longer than what is held', async () => {
  for (const wire of Object.keys(WIRES)) {
    const whole = WIRES[wire].whole({ text: 'Done.' })
    const long = WIRES[wire].whole({ text: 'x'.repeat(70_000) })
    const given = {}
    let pulled = 0
    const flood = new ReadableStream({
      pull(controller) {
        pulled += 1
        controller.enqueue(new Uint8Array(20_000).fill(32))
      },
      cancel: () => (given.flooded = true),
    })
    for (const [body, outcome, error, said] of [
      [JSON.stringify(whole), 'complete', undefined, WIRES[wire].said(whole)],
      [JSON.stringify(long), 'complete', 'proxy.held_too_long'],
      [flood, 'complete', 'proxy.held_too_long'],
      [silent('{"choices"', given), 'failed', 'model.timeout'],
    ]) {
      const reports = []
      const proxy = createProxy({
        upstream: UPSTREAM,
        authorize: me,
        mode: 'bound',
        limits: { idleMs: 30, heldBytes: 60_000 },
        onReport: (report) => reports.push(report),
        fetch: again(WIRES[wire], body),
      })
      const asked = JSON.stringify(WIRES[wire].body(looped(2), { stream: false }))
      const response = await ask(proxy, { wire, body: asked })
      if (outcome === 'failed') await assert.rejects(response.text(), { code: error })
      else {
        const got = await response.json()
        assert.deepEqual(WIRES[wire].called(got), [])
        assert.match(WIRES[wire].said(got), said ? /Done/ : /The call to ls did not run/)
      }
      assert.deepEqual([reports[0].outcome, reports[0].error], [outcome, error])
    }
    assert.deepEqual(given, { flooded: true, cancelled: true })
    assert.ok(pulled < 10, `${pulled}`)
  }
})

test("a session's limits replace the proxy's, on every path", async () => {
  const own = { bodyBytes: 100, firstByteMs: 30, idleMs: 30, heldBytes: 10 }
  const codes = []
  const proxyOf = (limits, options) =>
    createProxy({
      upstream: UPSTREAM,
      authorize: () => ({ tenant: 'me', limits }),
      onError: ({ code }) => codes.push(code),
      ...options,
    })
  const never = (_, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const send = (proxy, path, body) =>
    proxy(new Request(`https://edge.example/v1${path}`, { method: 'POST', body }))
  for (const path of ['/chat/completions', '/embeddings']) {
    const late = await send(proxyOf(own, { fetch: never }), path, '{}')
    assert.deepEqual([late.status, (await late.json()).error.code], [504, 'model.timeout'])
    const stalled = await send(proxyOf(own, { fetch: providerOf('{') }), path, '{}')
    await assert.rejects(stalled.text(), { code: 'model.timeout' })
    codes.length = 0
    const wrong = await send(proxyOf({ idleMs: 0 }, { fetch: never }), path, '{}')
    assert.deepEqual([wrong.status, codes], [500, ['options.invalid']])
  }
  const body = JSON.stringify(WIRES.chat.body(looped(2), { stream: false }))
  const big = await send(proxyOf(own, { fetch: never }), '/chat/completions', body)
  assert.equal((await big.json()).error.code, 'request.too_large')
  const reports = []
  const whole = JSON.stringify(WIRES.chat.whole({ calls: [LOOP] }))
  const loose = proxyOf(
    { ...own, bodyBytes: undefined },
    {
      mode: 'bound',
      fetch: async () => new Response(whole),
      onReport: (report) => reports.push(report),
    },
  )
  const withheld = await send(loose, '/chat/completions', body)
  assert.equal((await withheld.json()).error.code, 'proxy.held_too_long')
  assert.equal(reports[0].error, 'proxy.held_too_long')
})

test('a client that leaves: the response is cancelled, or read to its end for the report', async () => {
  const leaving = [
    // Before it reads, between two pieces, while it waits for one.
    ...[
      [[], 0],
      [['read'], 1],
      [['read', 'wait'], 1],
    ].flatMap(([reads, got]) => [
      ['stop', reads, got],
      ['continue', reads, got],
    ]),
  ]
  for (const [clientGone, reads, got] of leaving) {
    let more
    const given = {}
    const usage = 'data: {"choices":[],"usage":{"prompt_tokens":1}}\n\n'
    const ended = new Promise((resolve) => {
      const proxy = createProxy({
        upstream: UPSTREAM,
        authorize: me,
        clientGone,
        onReport: resolve,
        fetch: async () => {
          const body = new ReadableStream({
            start(controller) {
              controller.enqueue(new TextEncoder().encode('data: {"choices":[]}\n\n'))
              more = () => {
                controller.enqueue(new TextEncoder().encode(usage))
                controller.close()
              }
            },
            cancel: () => (given.cancelled = true),
          })
          return new Response(body)
        },
      })
      ask(proxy).then(async ({ body }) => {
        const reader = body.getReader()
        if (reads.includes('read')) await reader.read()
        const next = reads.includes('wait') && reader.read()
        await new Promise((resolve) => setImmediate(resolve))
        await reader.cancel()
        await next
        if (clientGone === 'continue') more()
      })
    })
    const { outcome, usage: counted, bytes } = await ended
    const first = 'data: {"choices":[]}\n\n'.length
    const expected =
      clientGone === 'stop'
        ? ['cancelled', 0, true, got * first]
        : ['complete', 1, undefined, first + usage.length]
    assert.deepEqual([outcome, counted.length, given.cancelled, bytes.response], expected)
  }
})

test('what a host throws fails no request; a failed report is told', async () => {
  const errors = []
  const proxy = createProxy({
    upstream: UPSTREAM,
    authorize: me,
    mode: 'bound',
    onReport: () => {
      throw new Error('report')
    },
    onError: (error) => {
      errors.push(error.message)
      throw new Error('again')
    },
    fetch: async () => new Response('data: [DONE]\n\n'),
  })
  assert.equal(await (await ask(proxy)).text(), 'data: [DONE]\n\n')
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(errors, ['report'])
  const broken = createProxy({
    upstream: () => {
      throw new Error('nowhere')
    },
    authorize: me,
  })
  const { status, headers } = await ask(broken, { wire: 'messages' })
  assert.deepEqual([status, headers.get('content-type')], [500, 'application/json'])
})

test('a response of the host that cannot be sent is 500, and the proxy does not reject', async () => {
  const shared = new Response('no', { status: 403 })
  for (const [authorize, statuses] of [
    [() => shared, [403, 500]],
    [() => Response.error(), [500, 500]],
  ]) {
    const errors = []
    const proxy = createProxy({
      upstream: UPSTREAM,
      authorize,
      onError: (error) => errors.push(error),
    })
    for (const [at, status] of statuses.entries()) {
      const response = await ask(proxy)
      assert.equal(response.status, status)
      const text = await response.text()
      if (status === 500) assert.equal(JSON.parse(text).error.code, 'proxy.failed', `${at}`)
    }
    assert.equal(errors.length, statuses.filter((status) => status === 500).length)
  }
})

test('a status that no response can have is a typed error; its body is cancelled', async () => {
  for (const status of [0, 101, 199, 600, 999]) {
    for (const path of ['/v1/chat/completions', '/v1/models']) {
      const given = {}
      const reports = []
      const proxy = createProxy({
        upstream: UPSTREAM,
        authorize: me,
        onReport: (report) => reports.push(report),
        fetch: async () => ({ status, headers: new Headers(), body: silent('x', given) }),
      })
      const init = { method: 'POST', body: '{"messages":[]}' }
      const response = await proxy(new Request(`https://edge.example${path}`, init))
      assert.deepEqual(
        [response.status, (await response.json()).error.code, given.cancelled],
        [502, 'model.status', true],
      )
      const told = reports.map((report) => [report.outcome, report.status, report.error])
      assert.deepEqual(told, path.endsWith('models') ? [] : [['failed', 502, 'model.status']])
    }
  }
})

test('a client that leaves in the middle of its body is no error of the server', async () => {
  // Some runtimes abort the signal of the request before its body fails, others behind it.
  for (const isEarly of [true, false]) {
    for (const [path, headers] of [
      ['/v1/chat/completions', {}],
      ['/v1/embeddings', { 'content-length': '100' }],
    ]) {
      const errors = []
      const left = new AbortController()
      const proxy = createProxy({
        upstream: UPSTREAM,
        authorize: me,
        onError: (error) => errors.push(error),
        fetch: () => assert.fail('it was sent on'),
      })
      const body = new ReadableStream({
        pull(controller) {
          if (isEarly) left.abort()
          controller.error(new Error('ECONNRESET'))
        },
      })
      const init = { method: 'POST', headers, body, duplex: 'half', signal: left.signal }
      const response = await proxy(new Request(`https://edge.example${path}`, init))
      assert.deepEqual([response.status, errors], [499, []])
      assert.equal((await response.json()).error.code, 'client.left')
    }
  }
})

test('nor is one that leaves while its body is sent on, where nothing is to continue', async () => {
  for (const clientGone of ['stop', 'continue']) {
    const errors = []
    const left = new AbortController()
    const proxy = createProxy({
      upstream: UPSTREAM,
      authorize: me,
      clientGone,
      onError: (error) => errors.push(error),
      fetch: async (_, { body }) => new Response(await new Response(body).text()),
    })
    const body = new ReadableStream({
      pull(controller) {
        left.abort()
        controller.error(new Error('ECONNRESET'))
      },
    })
    const init = { method: 'POST', body, duplex: 'half', signal: left.signal }
    const response = await proxy(new Request('https://edge.example/v1/files', init))
    assert.deepEqual([response.status, errors], [499, []])
  }
})

test('a response beyond the budget is answered once, and says why', async () => {
  for (const wire of Object.keys(WIRES)) {
    for (const stream of [true, false]) {
      const calls = [
        { ...LOOP, args: { n: 1 } },
        { ...LOOP, id: 'call_two', args: { n: 2 } },
      ]
      const reports = []
      let asked = 0
      const proxy = createProxy({
        upstream: UPSTREAM,
        authorize: me,
        mode: 'bound',
        policy: { maxTools: 2 },
        onReport: (report) => reports.push(report),
        fetch: async (_, { body }) => {
          asked += 1
          const entry = WIRES[wire].none(JSON.parse(new TextDecoder().decode(body)))
            ? { text: ['Done.'] }
            : { calls }
          return new Response(
            stream
              ? WIRES[wire].stream(entry, { n: 1, body: {} }).join('')
              : JSON.stringify(WIRES[wire].whole({ calls: entry.calls, text: entry.text?.[0] })),
          )
        },
      })
      const body = (times) => JSON.stringify(WIRES[wire].body(looped(times), { stream }))
      // One call is left: the first of the two runs.
      const one = await (await ask(proxy, { wire, body: body(1) })).text()
      assert.ok(one.includes(LOOP.id) && !one.includes('call_two'))
      // None is left when it is asked.
      const none = await (await ask(proxy, { wire, body: body(2) })).text()
      assert.ok(none.includes('Done.') && !none.includes(LOOP.id))
      assert.deepEqual([asked, reports[0].forced, reports[1].forced], [2, null, 'budget'])
      assert.deepEqual(
        reports.map(({ blocked }) => blocked.length),
        [1, 0],
      )
    }
  }
})
