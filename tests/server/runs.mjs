// Passes, bundles and chains over HTTP, and the events of passes.
import assert from 'node:assert/strict'
import { auditToolUse } from 'turnlock/planning'
import { Client, fresh, readEvents } from './client.mjs'
import { until } from '../patience.mjs'

const errorOf = async (response) => (await response.json()).error
const codeOf = async (response) => (await errorOf(response)).code
const BASE = { base: '/served' }
/** Addresses, keys and words of the server. */
const SECRET = /secret|sk-|https?:|127\.0\.0\.1/

/** method, path, status, code */
const TABLE = [
  ['POST', '/passes/plan', 200],
  ['POST', '/bundles/triage', 200],
  ['POST', '/chains/ask', 200],
  ['GET', '/agents/events', 200],
  ['GET', '/passes/plan', 405, 'route.method'],
  ['PUT', '/bundles/triage', 405, 'route.method'],
  ['DELETE', '/chains/ask', 405, 'route.method'],
  ['POST', '/agents/events', 405, 'route.method'],
  ['POST', '/passes', 404, 'route.not_found'],
  ['POST', '/passes/', 404, 'route.not_found'],
  ['POST', '/passes/plan/', 404, 'route.not_found'],
  ['POST', '/passes/plan/x', 404, 'route.not_found'],
  ['POST', '/passes/plans', 404, 'route.not_found'],
  ['POST', '/passes/triage', 404, 'route.not_found'],
  ['POST', '/messages/passes/plan', 404, 'route.not_found'],
  ['POST', '/turns/plan', 404, 'route.not_found'],
  ['POST', '/passes/constructor', 404, 'route.not_found'],
  ['POST', '/bundles/__proto__', 404, 'route.not_found'],
  ['POST', '/chains/toString', 404, 'route.not_found'],
  ['POST', '/chains/hasOwnProperty', 404, 'route.not_found'],
  ['POST', '/passes/%63onstructor', 404, 'route.not_found'],
  ['POST', '/passes/pl%61n', 404, 'route.not_found'],
  ['POST', '/__proto__/plan', 404, 'route.not_found'],
  ['GET', '/agents', 404, 'route.not_found'],
  ['GET', '/agents/events/', 404, 'route.not_found'],
]

/** The events of a run that is started here. */
async function run(client, path, body = {}, init) {
  const response = await client.post(path, body, init)
  assert.equal(response.status, 200, await (response.ok ? '' : response.clone().text()))
  return readEvents(response)
}

async function listed(client, query = '') {
  const response = await client.fetch(`/agents/events${query}`)
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('cache-control'), 'no-store')
  return (await response.json()).events
}

const errorsOf = async (host) => (await new Client(host.url, { base: '/errors' }).fetch('')).json()

export const runs = {
  'the table of runs'(host) {
    return Promise.all(
      TABLE.map(async ([method, path, status, code]) => {
        const client = new Client(host.url, BASE)
        const body = method === 'POST' ? {} : undefined
        const response = await client.post(path, body, { method, ...(!body && { body }) })
        const said = `${method} ${path}: ${response.status}`
        assert.equal(response.status, status, said)
        if (code) assert.equal(await codeOf(response), code, said)
        else await response.arrayBuffer()
        if (status === 405) assert.ok(response.headers.get('allow'), said)
      }),
    )
  },

  async 'a handler without runs has no such routes, and its turns keep their names'(host) {
    const client = new Client(host.url)
    assert.equal(await codeOf(await client.post('/passes/plan', {})), 'route.not_found')
    for (const path of ['/agents/events', '/passes/events']) {
      assert.equal(await codeOf(await client.fetch(path)), 'turn.not_found')
    }
  },

  async 'a pass is served, and its events are listed with times and plan'(host) {
    const client = new Client(host.url, { ...BASE, tenant: fresh('auditor') })
    const [mine, other] = [fresh('plan'), fresh('plan')]
    const { events, ids } = await run(client, '/passes/plan', { symbol: 'BTC' }, plan(mine))
    assert.deepEqual(
      ids,
      events.map((_, at) => String(at + 1)),
    )
    const last = events.pop()
    assert.deepEqual([last.type, last.plan, last.planId], ['complete', { size: 1 }, mine])
    assert.equal(last.input, undefined)
    await run(client, '/passes/later', {}, plan(other))
    const all = await listed(client)
    assert.deepEqual(new Set(all.map(({ plan_id }) => plan_id)), new Set([mine, other]))
    const list = await listed(client, `?plan_id=${mine}`)
    assert.deepEqual(
      list,
      events.map(({ seq, ...event }, at) => ({ ...event, id: list[at].id })),
    )
    assert.deepEqual(
      list.map(({ type }) => type),
      ['llm_call', 'strategist_tool_request', 'strategist_tool_result', 'llm_call'],
    )
    assert.ok(list.every(({ at }) => Math.abs(at - Date.now()) < 86_400_000))
    const [call] = auditToolUse(list, mine).calls
    assert.deepEqual([call.tool_name, call.status], ['list_files', 'ok'])
    assert.ok(call.settledAt >= call.requestedAt)
    assert.equal(host.receiver.ran(client.session).length, 2)
    // A page of them at a time.
    const pages = []
    for (let after = 0; ;) {
      const page = await listed(client, `?after=${after}&limit=3`)
      if (!page.length) break
      assert.ok(page.length <= 3)
      pages.push(...page)
      after = page.at(-1).id
    }
    assert.deepEqual(pages, all)
    assert.deepEqual(await listed(client, '?limit=2'), all.slice(-2))
    assert.deepEqual(await listed(client, '?plan_id=unknown'), [])
    for (const query of ['after=-1', 'after=x', 'limit=0', 'limit=1001', 'after=1e3']) {
      const response = await client.fetch(`/agents/events?${query}`)
      assert.equal(response.status, 400, query)
      assert.equal(await codeOf(response), 'request.invalid')
    }
    const long = await client.fetch(`/agents/events?plan_id=${'x'.repeat(257)}`)
    assert.equal(long.status, 400)
    // Nobody else's business.
    const stranger = new Client(host.url, { ...BASE, tenant: fresh('stranger') })
    assert.deepEqual(await listed(stranger, `?plan_id=${mine}`), [])
  },

  async 'a bundle and a chain are served'(host) {
    const client = new Client(host.url, BASE)
    const bundle = (await run(client, '/bundles/triage', { label: 'reject' })).events
    assert.deepEqual(bundle.at(-1).bundle.summary.consensus, { '/label': 'reject' })
    const chain = (await run(client, '/chains/ask')).events
    assert.deepEqual([chain.at(-1).type, chain.at(-1).text], ['complete', 'Paris.'])
    for (const events of [bundle, chain]) {
      assert.deepEqual(
        events.map(({ seq }) => seq),
        events.map((_, at) => at + 1),
      )
    }
  },

  async 'a run gets the body and who asks, and may be refused by the host'(host) {
    const client = new Client(host.url, { ...BASE, tenant: 'bound' })
    const response = await client.post(
      '/passes/echo',
      '{"symbol":"BTC","conversationId":"chat","__proto__":{"tenant":"bob"}}',
      { headers: { origin: 'https://app.example' } },
    )
    assert.equal(response.status, 422)
    assert.equal(response.headers.get('access-control-allow-origin'), 'https://app.example')
    const text = await response.text()
    assert.match(text, /"__proto__":\{"tenant":"bob"\}/)
    const { body, ...told } = JSON.parse(text)
    assert.equal(body.symbol, 'BTC')
    assert.deepEqual(told, {
      tenant: 'bound',
      session: { tenant: 'bound', projectId: 'of the session' },
      conversationId: 'chat',
      aborted: false,
    })
  },

  async 'runs are guarded as turns are'(host) {
    const json = { 'content-type': 'application/json' }
    for (const path of ['/passes/plan', '/bundles/triage', '/chains/ask']) {
      const client = new Client(host.url, { base: '/narrow' })
      const post = (body, init) => client.post(path, body, init)
      const cases = [
        [await post({}, { headers: { authorization: undefined } }), 401, 'auth.required'],
        [await post({}, { headers: { origin: 'https://evil.example' } }), 403, 'origin.denied'],
        [await post({}, { headers: { 'sec-fetch-site': 'cross-site' } }), 403, 'origin.denied'],
        [await post({}, { headers: { 'content-type': 'text/plain' } }), 415],
        [await post({ x: 'x'.repeat(2000) }), 413, 'request.too_large'],
        [await post('{'), 400, 'request.json'],
        [await post('[]'), 400, 'request.invalid'],
        [await post('null'), 400, 'request.invalid'],
        [await post({ conversationId: 'x'.repeat(257) }), 400, 'request.invalid'],
        [await post({ conversationId: 7 }), 400, 'request.invalid'],
      ]
      for (const [response, status, code] of cases) {
        assert.equal(response.status, status, `${path} ${code}`)
        const error = await errorOf(response)
        if (code) assert.equal(error.code, code)
      }
      const preflight = await client.fetch(path, {
        method: 'OPTIONS',
        headers: { origin: 'https://app.example', authorization: undefined },
      })
      assert.equal(preflight.status, 204)
      assert.equal(preflight.headers.get('access-control-allow-methods'), 'POST')
      const head = await client.post(path, {}, { headers: { ...json, origin: host.url } })
      assert.equal(head.headers.get('content-type'), 'text/event-stream; charset=utf-8')
      assert.match(head.headers.get('cache-control'), /no-transform/)
      assert.equal(head.headers.get('access-control-allow-origin'), host.url)
      await head.arrayBuffer()
      assert.equal(host.provider.requests(client.session).length, 0)
    }
    const client = new Client(host.url, BASE)
    for (const [headers, status] of [
      [{ authorization: undefined }, 401],
      [{ origin: 'https://evil.example' }, 403],
    ]) {
      assert.equal((await client.fetch('/agents/events', { headers })).status, status)
    }
  },

  async 'what a host starts wrong is its own to know'(host) {
    const client = new Client(host.url, BASE)
    await errorsOf(host)
    for (const path of [
      '/passes/throws',
      '/passes/rejects',
      '/passes/misuse',
      '/passes/nothing',
      '/passes/lost',
      '/bundles/misuse',
    ]) {
      const response = await client.post(path, {})
      assert.equal(response.status, 500, path)
      const error = await errorOf(response)
      assert.deepEqual(error, { code: 'server.failed', message: 'the server failed' }, path)
      const told = await errorsOf(host)
      assert.equal(told.length, 1, `${path} ${told}`)
      if (path === '/passes/lost') assert.match(told[0], /async function/)
    }
    for (const path of ['/passes/broken', '/bundles/broken', '/chains/broken']) {
      const { events } = await run(client, path)
      const text = JSON.stringify(events)
      assert.match(text, /model\.status/, path)
      assert.match(text, /the model refused the request/, path)
      assert.doesNotMatch(text, SECRET, path)
      assert.ok((await errorsOf(host)).length >= 1, path)
    }
  },

  async 'no turn has an id that names a route'(host) {
    for (const base of ['/api/chat', '/served']) {
      const client = new Client(host.url, { base, script: 'answer', tenant: fresh('routes') })
      for (const requestId of ['agents', 'passes', 'bundles', 'chains']) {
        const refused = await client.start({ requestId })
        assert.deepEqual([refused.status, await codeOf(refused)], [400, 'request.invalid'])
      }
      // Of those that may be started, each is followed where the client asks for it.
      for (const requestId of ['messages', 'events', 'turns', 'resume', 'stream', 'agents.1']) {
        const { events } = await client.run({ requestId })
        const response = await client.fetch(`/${requestId}/events`)
        assert.deepEqual((await readEvents(response)).events, events, requestId)
      }
    }
  },

  async 'a log that fails costs its events, and no pass'(host) {
    const client = new Client(host.url, { base: '/unlogged' })
    const { events } = await run(client, '/passes/plan')
    assert.equal(events.at(-1).type, 'complete')
    const response = await client.fetch('/agents/events')
    assert.equal(response.status, 500)
    assert.doesNotMatch(await response.text(), SECRET)
  },

  async 'a run counts as a turn that runs, and is cancelled when its client leaves'(host) {
    const client = new Client(host.url, { base: '/narrow', tenant: fresh('narrow') })
    const gate = host.receiver.hold(client.session)
    const left = new AbortController()
    const planId = fresh('left')
    const init = { ...plan(planId), signal: left.signal }
    const first = await client.post('/passes/plan', {}, init)
    assert.equal(first.status, 200)
    await gate.reached
    for (const second of [
      await client.post('/bundles/triage', {}),
      await client.post('/chains/ask', {}),
      await client.start(),
    ]) {
      assert.equal(second.status, 429)
      assert.equal(await codeOf(second), 'limit.turns')
    }
    const neighbour = new Client(host.url, { base: '/narrow', tenant: fresh('neighbour') })
    assert.equal((await run(neighbour, '/chains/ask')).events.at(-1).type, 'complete')
    left.abort()
    // The tool still waits: there is room because the pass has ended without it.
    await until(async () => {
      const response = await client.post('/bundles/triage', { label: 'a' })
      await response.arrayBuffer()
      return response.status === 200
    })
    const types = (await listed(client, `?plan_id=${planId}`)).map(({ type }) => type)
    assert.deepEqual(types.slice(0, 2), ['llm_call', 'strategist_tool_request'])
    gate.open()
  },
}

const plan = (planId) => ({ headers: { 'x-plan': planId } })
