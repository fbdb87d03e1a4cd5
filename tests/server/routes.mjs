// Which route answers what: the table of routes, and the switches of the two-stage route.
import assert from 'node:assert/strict'
import { Client, fresh, readEvents } from './client.mjs'

const codeOf = async (response) => (await response.json()).error.code
const BODY = { messages: [{ role: 'user', content: 'go' }] }

/** method, path, status, code: at the plain handler, which has both routes. */
const TABLE = [
  ['POST', '/messages', 200],
  ['POST', '/messages_two_stage', 200],
  ['POST', '', 200],
  ['GET', '', 200],
  ['POST', '/messages/resume', 404, 'turn.not_found'],
  ['POST', '/messages_two_stage/resume', 404, 'turn.not_found'],
  ['POST', '/resume', 404, 'turn.not_found'],
  ['POST', '/messages/cancel', 404, 'turn.not_found'],
  ['POST', '/messages_two_stage/cancel', 404, 'turn.not_found'],
  ['POST', '/cancel', 404, 'turn.not_found'],
  ['GET', '/messages/unknown/events', 404, 'turn.not_found'],
  ['GET', '/messages_two_stage/unknown/events', 404, 'turn.not_found'],
  ['GET', '/unknown/events', 404, 'turn.not_found'],
  ['GET', '/messages/%/events', 404, 'turn.not_found'],
  ['GET', '/messages/a%2Fb/events', 404, 'turn.not_found'],
  ['GET', '/messages/..%2f/events', 404, 'turn.not_found'],
  ['GET', `/messages/${'x'.repeat(129)}/events`, 404, 'turn.not_found'],
  ['GET', '/messages', 405, 'route.method'],
  ['PUT', '/messages', 405, 'route.method'],
  ['DELETE', '/messages_two_stage', 405, 'route.method'],
  ['GET', '/messages_two_stage/resume', 405, 'route.method'],
  ['GET', '/messages/cancel', 405, 'route.method'],
  ['POST', '/messages/unknown/events', 405, 'route.method'],
  ['DELETE', '', 405, 'route.method'],
  ['POST', '/messages/', 404, 'route.not_found'],
  ['POST', '/message', 404, 'route.not_found'],
  ['POST', '/messages_two_stages', 404, 'route.not_found'],
  ['POST', '/messages/x/y/events', 404, 'route.not_found'],
  ['POST', '/constructor/cancel', 404, 'route.not_found'],
  ['GET', '/events', 404, 'route.not_found'],
  ['POST', 'x/messages', 404, 'route.not_found'],
]

/** What a unified and a two-stage turn begin with. */
async function phaseOf(response) {
  assert.equal(response.status, 200)
  const { events } = await readEvents(response)
  assert.equal(events.at(-1).type, 'complete')
  return events[0].phase
}

/**
 * Without what differs from run to run: a call runs as soon as it has been read, so that its
 * result may come before or after what the model says next.
 */
function plain(events, requestId) {
  const text = (event) =>
    JSON.stringify(event)
      .replaceAll(requestId, 'ID')
      .replace(/"(durationMs|seq)":[\d.]+/g, '"$1":0')
  const late = ({ type }) => type === 'tool_results' || type === 'stagnation'
  const told = events.filter((event) => !late(event)).map(text)
  return [...told, ...events.filter(late).map(text).sort()].join('\n')
}

export const routes = {
  'the table of routes'(host) {
    return Promise.all(
      TABLE.map(async ([method, path, status, code]) => {
        const client = new Client(host.url, { script: 'answer' })
        const body =
          path.endsWith('resume') || path.endsWith('cancel') ? { requestId: 'unknown' } : BODY
        const own =
          method === 'POST' ? [path, body] : [path, undefined, { method, body: undefined }]
        const response = await client.post(...own)
        const said = `${method} ${path}: ${response.status}`
        assert.equal(response.status, status, said)
        if (code) assert.equal(await codeOf(response), code, said)
        else await response.arrayBuffer()
        if (status === 405) assert.ok(response.headers.get('allow'), said)
      }),
    )
  },

  async 'an address outside of the base is no route'(host) {
    const response = await new Client(host.url, { base: '/elsewhere' }).start()
    assert.equal(await codeOf(response), 'route.not_found')
  },

  async 'each route runs its own mode'(host) {
    const client = new Client(host.url, { script: 'answer' })
    assert.equal(await phaseOf(await client.start({}, '/messages')), 'unified')
    assert.equal(await phaseOf(await client.start({}, '/messages_two_stage')), 'tool_phase')
    assert.equal(await phaseOf(await client.start({}, '')), 'tool_phase')
  },

  async 'switched off, the two-stage route is not there, and the default is the unified one'(host) {
    const client = new Client(host.url, { base: '/off', script: 'answer' })
    const disabled = await client.start()
    assert.equal(disabled.status, 404)
    assert.equal(await codeOf(disabled), 'route.disabled')
    assert.equal(await phaseOf(await client.start({}, '/messages')), 'unified')
    assert.equal(await phaseOf(await client.start({}, '')), 'unified')
    // Turns that exist can still be resumed, paused, cancelled and followed.
    assert.equal(await codeOf(await client.resume('some')), 'turn.not_found')
    assert.equal(await codeOf(await client.pause('some')), 'turn.not_found')
    assert.equal(await codeOf(await client.cancel('some')), 'turn.not_found')
    assert.equal(await codeOf(await client.attach('some')), 'turn.not_found')
    assert.deepEqual(await (await client.fetch('')).json(), {
      twoStage: { enabled: false, default: true, maxTools: host.maxTools },
      default: '/off/messages',
    })
  },

  async 'the default route can be the unified one while both are there'(host) {
    const client = new Client(host.url, { base: '/unified', script: 'answer' })
    assert.equal(await phaseOf(await client.start({}, '')), 'unified')
    assert.equal(await phaseOf(await client.start()), 'tool_phase')
    assert.equal((await (await client.fetch('')).json()).default, '/unified/messages')
  },

  async 'the unified route is the same whether the switch is on or off'(host) {
    const seen = []
    for (const enabled of [true, false]) {
      for (const script of ['one-call', 'loop', 'list-then-read', 'parallel', 'always-429']) {
        const client = new Client(host.url, { base: '/callback', script })
        const headers = { 'x-switches': JSON.stringify({ enabled, maxTools: enabled ? 5 : 1 }) }
        const body = { policy: { maxTools: enabled ? 3 : 0, pauseAfterTools: enabled } }
        const requestId = fresh('same')
        const { events } = await client.run({ requestId, ...body }, '/messages', { headers })
        const asked = host.provider.requests(client.session).map((one) => one.body)
        seen.push([`${script} ${enabled}`, plain([...events, asked], requestId)])
      }
    }
    const half = seen.length / 2
    for (const [at, [name, text]] of seen.slice(0, half).entries()) {
      assert.equal(text, seen[at + half][1], name)
    }
  },

  async 'a callback switches from one request to the next'(host) {
    const client = new Client(host.url, { base: '/callback', script: 'answer' })
    for (const [switches, status] of [
      [{ enabled: true }, 200],
      [{ enabled: false }, 404],
      [{}, 200],
    ]) {
      const headers = { 'x-switches': JSON.stringify(switches) }
      const response = await client.start({}, '/messages_two_stage', { headers })
      assert.equal(response.status, status)
      await response.arrayBuffer()
    }
  },

  async 'what speaks first, wins: header, callback, environment, values, defaults'(host) {
    const ask = async (base, headers) => {
      const response = await new Client(host.url, { base }).fetch('', { headers })
      return (await response.json()).twoStage
    }
    const env = (variables) => ({ 'x-env': JSON.stringify(variables) })
    const all = { TWO_STAGE_ENABLED: 'false', TWO_STAGE_DEFAULT: '0', TWO_STAGE_MAX_TOOLS: '7' }
    const off = { enabled: false, default: false, maxTools: 7 }
    assert.deepEqual(await ask('/api/chat', env(all)), off, 'environment before defaults')
    assert.deepEqual(await ask('/values', env(all)), off, 'environment before values')
    assert.deepEqual(
      await ask('/values', env({ TWO_STAGE_ENABLED: 'off' })),
      { enabled: false, default: true, maxTools: host.maxTools },
      'variables one by one; those that are not given come from the process',
    )
    assert.deepEqual(
      await ask('/callback', {
        ...env(all),
        'x-switches': JSON.stringify({ enabled: true, maxTools: 2 }),
      }),
      { enabled: true, default: false, maxTools: 2 },
      'callback before environment',
    )
    const gateway = { 'x-gw-enabled': 'on', 'x-gw-default': 'true', 'x-gw-max': '9' }
    assert.deepEqual(
      await ask('/gateway', { ...env(all), ...gateway }),
      { enabled: true, default: true, maxTools: 9 },
      'header before environment',
    )
    assert.deepEqual(
      await ask('/values', { ...env(all), ...gateway }),
      off,
      'a header nobody named',
    )
    // Real values, as a worker's bindings can be.
    const typed = { TWO_STAGE_ENABLED: false, TWO_STAGE_DEFAULT: true, TWO_STAGE_MAX_TOOLS: 4 }
    assert.deepEqual(await ask('/values', env(typed)), {
      enabled: false,
      default: true,
      maxTools: 4,
    })
    // What cannot be read is passed over.
    const nonsense = {
      TWO_STAGE_ENABLED: 'perhaps',
      TWO_STAGE_DEFAULT: '',
      TWO_STAGE_MAX_TOOLS: '-1',
    }
    assert.deepEqual(await ask('/values', env(nonsense)), {
      enabled: true,
      default: true,
      maxTools: 3,
    })
  },

  async 'the environment of the process counts, where the host gives none'(host) {
    const { twoStage } = await (await new Client(host.url).fetch('')).json()
    assert.deepEqual(twoStage, { enabled: true, default: true, maxTools: host.maxTools })
    assert.ok(host.maxTools > 1, 'the variable is set, so that this can fail')
  },

  async 'a request sets its own budget, within the maximum'(host) {
    const executed = async (base, policy, own = {}) => {
      const client = new Client(host.url, { base, script: 'loop-then-answer', ...own })
      await client.run(policy === undefined ? {} : { policy })
      return host.receiver.ran(client.session).length
    }
    const list = { script: 'list-then-read' }
    assert.equal(await executed('/gateway', undefined, list), 2, 'the maximum, unasked')
    assert.equal(await executed('/gateway', { maxTools: 1 }, list), 1)
    assert.equal(await executed('/gateway', { maxTools: 0 }, list), 0)
    assert.equal(await executed('/gateway', { maxTools: 900 }, list), 2)
    const clamped = new Client(host.url, { base: '/callback', script: 'list-then-read' })
    const headers = { 'x-switches': '{"maxTools":1}' }
    await clamped.run({ policy: { maxTools: 900 } }, '/messages_two_stage', { headers })
    assert.equal(host.receiver.ran(clamped.session).length, 1, 'clamped')
  },

  async 'the budget of the policy is the ceiling where twoStage names none'(host) {
    const run = async (policy) => {
      const client = new Client(host.url, { base: '/ceiling', script: 'list-then-read' })
      const { events } = await client.run(policy === undefined ? {} : { policy })
      const [{ maxTools }] = events.filter(({ type }) => type === 'phase_start')
      return [maxTools, host.receiver.ran(client.session).length]
    }
    // A variable of the environment takes precedence over values in the code.
    const most = host.maxTools > 1 ? host.maxTools : 2
    assert.deepEqual(await run(), [2, 2])
    assert.deepEqual(await run({ maxTools: 900 }), [most, 2])
    assert.deepEqual(await run({ maxTools: 1 }), [1, 1])
  },

  async 'the policy of the server holds: a body chooses two members and no other'(host) {
    const client = new Client(host.url, { base: '/policy', script: 'parallel' })
    await client.run({ policy: { maxTools: 9, resultsAs: 'box', readMode: 'first_call' } })
    // Three calls in one response, and four are allowed: `batch` at work. Native results, too.
    assert.equal(host.receiver.ran(client.session).length, 3)
    const [, second] = host.provider.requests(client.session)
    assert.ok(second.body.messages.some((message) => message.role === 'tool'))
  },

  async Hono(host) {
    const client = new Client(host.url, { base: '/hono/chat' })
    const { events } = await client.run()
    assert.equal(events.at(-1).type, 'complete')
    assert.equal((await client.fetch('')).status, 200)
    assert.equal((await client.attach('unknown')).status, 404)
    const again = await client.attach(events[0].requestId, 0)
    assert.deepEqual((await readEvents(again)).events, events)
  },
}
