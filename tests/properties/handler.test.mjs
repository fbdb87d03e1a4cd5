// The handler over generated sequences of requests: two tenants with equal ids, readers that leave
// and come back with cursors, cancels, resumes, spoiled requests.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { customModel, defineTool, memoryStore, signature } from 'turnlock'
import { createHandler } from 'turnlock/server'
import { anyCharacter } from './any-character.mjs'
import { holds } from './hold.mjs'

const TENANTS = ['ann', 'bob']
/** What only this tenant may read. */
const secretOf = (tenant) => `secret-of-${tenant}`
const tick = () => new Promise((resolve) => setTimeout(resolve))

/** A handler in which everything that a turn says is its tenant's secret. */
function served() {
  const runs = new Map()
  const tool = (name, more) =>
    defineTool({
      description: name,
      inputSchema: { type: 'object' },
      ...more,
      async execute({ tenant }, { requestId, toolCallId }) {
        const key = `${tenant} ${requestId} ${toolCallId}`
        runs.set(key, (runs.get(key) ?? 0) + 1)
        await tick()
        return `${secretOf(tenant)} was noted`
      },
    })
  const model = (request) => {
    const tenant = request.headers.get('authorization')
    return customModel(async function* ({ messages }) {
      const said = JSON.stringify(messages)
      await tick()
      yield { type: 'text', text: `${secretOf(tenant)} ` }
      if (!said.includes('TOOL RESULT')) {
        const name = said.includes('ask first') ? 'asks' : 'note'
        yield { type: 'tool_call_start', index: 0, id: 'c0', name }
        yield { type: 'tool_call_arguments', index: 0, text: JSON.stringify({ tenant }) }
        yield { type: 'tool_call_end', index: 0 }
        return
      }
      for (let n = 0; n < 6; n++) {
        if (n % 2) await tick()
        yield { type: 'text', text: `word ${n} ` }
      }
    })
  }
  const failures = []
  const handler = createHandler({
    model,
    store: memoryStore(),
    tools: { note: tool('note'), asks: tool('asks', { needsApproval: true }) },
    authorize: (request) => {
      const tenant = request.headers.get('authorization')
      return TENANTS.includes(tenant) ? { tenant } : null
    },
    onError: (error) => failures.push(error),
  })
  return { handler, runs, failures }
}

const tenants = fc.constantFrom(...TENANTS)
const ids = fc.constantFrom('r1', 'r2')
const at = { tenant: tenants, id: ids }
const few = fc.integer({ min: 1, max: 12 })
const cursor = fc.oneof(fc.constant('seen'), fc.nat(14))
const step = (kind, more = {}) => fc.record({ kind: fc.constant(kind), ...at, ...more })
const commands = fc.oneof(
  step('start', { asks: fc.boolean(), reads: few }),
  step('start', { asks: fc.boolean(), reads: fc.constant(Infinity) }),
  step('attach', { after: cursor, reads: few }),
  step('attach', { after: cursor, reads: fc.constant(Infinity) }),
  step('cancel'),
  step('pause'),
  step('resume', {
    approved: fc.option(fc.boolean()),
    batch: fc.constantFrom(0, 0, null, 1),
    reads: few,
  }),
  step('claim', { call: fc.constantFrom('c0', 'c1'), batch: fc.nat(2) }),
  step('turns'),
  step('wait'),
  step('spoiled', {
    path: fc.constantFrom(
      '',
      '/resume',
      '/cancel',
      '/pause',
      '/claim',
      '/r1/events',
      '/r1/%00',
      '/%',
    ),
    method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'OPTIONS'),
    body: fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.json(),
      fc
        .record(
          {
            messages: fc.jsonValue({ maxDepth: 2 }),
            requestId: fc.oneof(fc.constantFrom('r1', 'r2'), fc.jsonValue({ maxDepth: 1 })),
            policy: fc.jsonValue({ maxDepth: 2 }),
            approvals: fc.array(fc.jsonValue({ maxDepth: 2 })),
            outcomes: fc.array(fc.jsonValue({ maxDepth: 2 })),
            toolBatchId: fc.jsonValue({ maxDepth: 1 }),
          },
          { requiredKeys: [] },
        )
        .map((value) => JSON.stringify(value)),
    ),
    cursor: fc.string({ unit: 'grapheme-ascii', maxLength: 6 }),
    stranger: fc.boolean(),
  }),
)

/** What is known of the turns: each number has one event, for every reader. */
class Known {
  #events = new Map()

  add(key, list, after, what) {
    const events = this.#events.get(key) ?? new Map()
    this.#events.set(key, events)
    list.forEach((event, n) => {
      assert.equal(event.seq, after + 1 + n, `${what}: no event is lost or doubled`)
      const before = events.get(event.seq)
      if (before) assert.deepEqual(event, before, `${what}: an event is what it was`)
      else events.set(event.seq, event)
    })
  }

  last(key) {
    return Math.max(0, ...(this.#events.get(key)?.keys() ?? []))
  }
}

const ENDS = ['complete', 'error', 'cancelled']

async function play({ handler, runs, failures }, all) {
  const known = new Known()
  const started = new Set()
  const ask = async (tenant, method, path, { body, headers } = {}) => {
    const response = await handler(
      new Request(`https://edge.example/api/chat/messages_two_stage${path}`, {
        method,
        headers: { authorization: tenant, 'content-type': 'application/json', ...headers },
        ...(body !== undefined && !['GET', 'HEAD'].includes(method) && { body }),
      }),
    )
    assert.ok(response.status < 500, `${method} ${path} ${body}: ${response.status}`)
    return response
  }
  /** Reads so many events, and leaves; the others' secret is never there. */
  const read = async (tenant, response, most) => {
    const other = secretOf(TENANTS.find((one) => one !== tenant))
    const events = []
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
    const parser = createParser({
      onEvent: ({ data, id }) => {
        const event = JSON.parse(data)
        assert.equal(id, String(event.seq))
        events.push(event)
      },
    })
    const decoder = new TextDecoder()
    let text = ''
    if (response.body) {
      for await (const piece of response.body) {
        const part = decoder.decode(piece, { stream: true })
        text += part
        if (isStream) parser.feed(part)
        if (events.length >= most) break
      }
    }
    assert.ok(!text.includes(other), `${tenant} was told ${other}`)
    if (!isStream && response.status >= 400) {
      assert.match(JSON.parse(text).error.code, /^[a-z]+\.[a-z_]+$/)
    }
    return events.slice(0, most)
  }
  const post = (tenant, path, value) => ask(tenant, 'POST', path, { body: JSON.stringify(value) })
  const attach = async (tenant, id, after, reads) => {
    const headers = { 'last-event-id': String(after) }
    const response = await ask(tenant, 'GET', `/${id}/events`, { headers })
    if (!started.has(`${tenant} ${id}`)) assert.equal(response.status, 404)
    const events = await read(tenant, response, reads)
    if (response.ok) known.add(`${tenant} ${id}`, events, after, `${tenant} attaches to ${id}`)
    return events
  }

  const DO = {
    async start({ tenant, id, asks, reads }) {
      const content = asks ? 'ask first' : 'go'
      const isNew = !started.has(`${tenant} ${id}`)
      started.add(`${tenant} ${id}`)
      const messages = [{ role: 'user', content }]
      const response = await post(tenant, '', { requestId: id, messages })
      const events = await read(tenant, response, reads)
      // Another start of the same turn is a conflict, and tells nothing of it.
      if (isNew) known.add(`${tenant} ${id}`, events, 0, `${tenant} starts ${id}`)
      else if (response.ok)
        assert.deepEqual(
          events.map(({ type, code }) => code ?? type),
          ['turn.conflict'],
        )
    },
    attach: ({ tenant, id, after, reads }) =>
      attach(tenant, id, after === 'seen' ? known.last(`${tenant} ${id}`) : after, reads),
    cancel: async ({ tenant, id }) =>
      read(tenant, await post(tenant, '/cancel', { requestId: id }), Infinity),
    pause: async ({ tenant, id }) =>
      read(tenant, await post(tenant, '/pause', { requestId: id }), Infinity),
    async resume({ tenant, id, approved, batch, reads }) {
      const call = signature({ tool: 'asks', args: { tenant } })
      const own = {
        ...(approved !== null && { approvals: [{ signature: call, approved }] }),
        ...(batch !== null && { toolBatchId: batch }),
      }
      const response = await post(tenant, '/resume', { requestId: id, ...own })
      const events = await read(tenant, response, reads)
      // One that resumes as another did shares its refusal with nobody.
      if (!response.ok || events[0]?.code === 'turn.conflict') return
      known.add(`${tenant} ${id}`, events, (events[0]?.seq ?? 1) - 1, `${tenant} resumes ${id}`)
    },
    claim: async ({ tenant, id, call, batch }) =>
      read(
        tenant,
        await post(tenant, '/claim', { requestId: id, toolBatchId: batch, toolCallIds: [call] }),
        Infinity,
      ),
    turns: async ({ tenant }) => read(tenant, await ask(tenant, 'GET', '/turns'), Infinity),
    async spoiled({ tenant, path, method, body, cursor: seen, stranger }) {
      // A turn that is started here is not one of those that are followed.
      const isStart = path === '' && method === 'POST' && !stranger
      if (isStart && /"r[12]"/.test(body)) return
      const headers = { 'last-event-id': seen }
      const who = stranger ? 'nobody' : tenant
      const response = await ask(who, method, path, { body, headers })
      if (stranger && method !== 'OPTIONS') assert.ok(response.status >= 400)
      await read(tenant, response, 3)
    },
    wait: async () => {
      for (let n = 0; n < 3; n++) await tick()
    },
  }
  for (const group of all) await Promise.all(group.map((command) => DO[command.kind](command)))
  // At the end, every turn is whole, for a reader that comes now.
  for (const key of started) {
    const [tenant, id] = key.split(' ')
    await DO.cancel({ tenant, id })
    const events = await attach(tenant, id, 0, Infinity)
    const ends = events.filter(({ type }) => ENDS.includes(type))
    assert.deepEqual(ends, events.slice(-1), `${key}: one end, behind everything`)
    const again = await attach(tenant, id, 0, Infinity)
    assert.deepEqual(again, events)
    for (let after = 1; after <= events.length; after += 3) {
      assert.deepEqual(await attach(tenant, id, after, Infinity), events.slice(after))
    }
  }
  for (const [key, times] of runs) assert.equal(times, 1, `${key} ran ${times} times`)
  assert.deepEqual(failures, [])
}

test('no event is lost or doubled, nothing runs twice, no tenant reads another’s', async () => {
  const groups = fc.array(fc.array(commands, { minLength: 1, maxLength: 3 }), { maxLength: 10 })
  const property = fc.asyncProperty(groups, (all) => play(served(), all))
  await holds('requests', property, 250)
})
