// Conversations whose history only the provider has: with a store, the proxy remembers their calls.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { memoryStore } from 'turnlock'
import { createProxy } from 'turnlock/proxy'
import { LOOP, WIRES } from './wires.mjs'

/** How each API names the response that a request continues, and what is in a history. */
const APIS = {
  responses: {
    history: 'input',
    previous: (body) => body.previous_response_id,
    called: (history) =>
      history.flatMap((item) => (item.type === 'function_call' ? item.call_id : [])),
    answered: (history) =>
      history.flatMap((item) => (item.type === 'function_call_output' ? item.call_id : [])),
    output: (response) => response.output,
    refusal: (message) => ({ error: { message, type: 'invalid_request_error', code: null } }),
  },
  messages: {
    history: 'messages',
    previous: (body) => body.thread?.previous_message_id,
    called: (history) => blocks(history).flatMap(({ type, id }) => (type === 'tool_use' ? id : [])),
    answered: (history) =>
      blocks(history).flatMap(({ type, tool_use_id: id }) => (type === 'tool_result' ? id : [])),
    output: ({ content }) => [{ role: 'assistant', content }],
    refusal: (message) => ({ type: 'error', error: { type: 'invalid_request_error', message } }),
  },
}
const blocks = (history) =>
  history.flatMap(({ content }) => (Array.isArray(content) ? content : []))

/**
 * A provider that keeps conversations. It refuses to continue a response that it does not have, or
 * one of whose calls has no result. `model` gives the calls of each response.
 */
function keeping(wire, model) {
  const api = APIS[wire]
  const kept = new Map()
  const requests = []
  const answer = async (_, init) => {
    const body = JSON.parse(Buffer.from(init.body).toString())
    requests.push(body)
    const previous = api.previous(body)
    const before = previous === undefined ? [] : kept.get(previous)
    const history = [...(before ?? []), ...body[api.history]]
    const answered = new Set(api.answered(history))
    const open = api.called(history).filter((id) => !answered.has(id))
    const message = before ? `no result of ${open}` : 'no such response'
    if (!before || open.length > 0) return Response.json(api.refusal(message), { status: 400 })
    const n = requests.length
    const calls = WIRES[wire].none(body) ? [] : model(n, history)
    const entry = calls.length ? { calls } : { text: ['Fine.'] }
    const whole = {
      ...WIRES[wire].whole({ calls, text: entry.text?.[0] }),
      id: `${wire === 'messages' ? 'msg' : 'resp'}_${n}`,
    }
    kept.set(whole.id, [...history, ...api.output(whole)])
    if (!body.stream) return Response.json(whole)
    const text = WIRES[wire].stream(entry, { n, body }).join('')
    return new Response(text, { headers: { 'content-type': 'text/event-stream' } })
  }
  return { answer, kept, requests }
}

/** A proxy in front of such a provider. */
function proxied(wire, model, { wrap = (answer) => answer, ...options } = {}) {
  const provider = keeping(wire, model)
  const reports = []
  const proxy = createProxy({
    upstream: 'https://provider.example/v1',
    mode: 'bound',
    authorize: ({ headers }) => ({ tenant: headers.get('x-tenant') ?? 'me' }),
    ...options,
    onReport: (report) => reports.push(report),
    fetch: wrap(provider.answer),
  })
  return { ...provider, reports, fetch: (input, init) => proxy(new Request(input, init)) }
}

const USER = { role: 'user', content: 'go' }
const LS = { type: 'object', properties: { path: { type: 'string' } } }

/** An agent of each API: it sends what is new, and runs calls until there is none, 9 times at most. */
const AGENTS = {
  responses(fetch, stream) {
    const client = new OpenAI({
      baseURL: 'https://edge.example/v1',
      apiKey: 'k',
      maxRetries: 0,
      fetch,
    })
    const tools = [{ type: 'function', name: 'ls', parameters: LS }]
    let previous
    const ask = async (input) => {
      const body = { model: 'm', tools, input, ...(previous && { previous_response_id: previous }) }
      const response = stream
        ? await client.responses.stream(body).finalResponse()
        : await client.responses.create(body)
      previous = response.id
      return response.output
    }
    return async (message, results) => {
      let input = [message]
      for (let round = 0; round < 9; round++) {
        const output = await ask(input)
        const calls = output.filter(({ type }) => type === 'function_call')
        if (calls.length === 0) return WIRES.responses.said({ output })
        input = calls.map((call) => ({
          type: 'function_call_output',
          call_id: call.call_id,
          output: results(JSON.parse(call.arguments)),
        }))
      }
      return undefined
    }
  },
  messages(fetch, stream) {
    const client = new Anthropic({
      baseURL: 'https://edge.example',
      apiKey: 'k',
      maxRetries: 0,
      fetch,
    })
    let previous
    const ask = async (messages) => {
      const thread = previous
        ? { type: 'continue', previous_message_id: previous }
        : { type: 'create' }
      const tools = [{ name: 'ls', input_schema: LS }]
      const body = { model: 'm', max_tokens: 99, tools, messages, thread }
      const message = stream
        ? await client.messages.stream(body).finalMessage()
        : await client.messages.create(body)
      previous = message.id
      return message.content
    }
    return async (message, results) => {
      let messages = [message]
      for (let round = 0; round < 9; round++) {
        const content = await ask(messages)
        const calls = content.filter(({ type }) => type === 'tool_use')
        if (calls.length === 0) return WIRES.messages.said({ content })
        const result = (call) => ({
          type: 'tool_result',
          tool_use_id: call.id,
          content: results(call.input),
        })
        messages = [{ role: 'user', content: calls.map(result) }]
      }
      return undefined
    }
  },
}

const again = (n) => [{ ...LOOP, id: `call_${n}` }]

for (const wire of Object.keys(AGENTS)) {
  for (const stream of [true, false]) {
    const how = `${wire}, ${stream ? 'stream' : 'whole'}`

    test(`no store, ${how}: nothing is bounded, and the reports say so`, async () => {
      const { fetch, reports } = proxied(wire, again)
      let runs = 0
      const said = await AGENTS[wire](fetch, stream)(USER, () => `${(runs += 1) && 'same'}`)
      assert.deepEqual([said, runs], [undefined, 9])
      assert.deepEqual(
        [...new Set(reports.slice(1).map(({ history, forced }) => `${history} ${forced}`))],
        ['partial null'],
      )
    })

    test(`a store, ${how}: a loop ends with an answer, and the conversation goes on`, async () => {
      const { fetch, reports, requests, kept } = proxied(wire, again, { store: memoryStore() })
      const agent = AGENTS[wire](fetch, stream)
      let runs = 0
      const results = () => {
        runs += 1
        return 'same'
      }
      assert.deepEqual([await agent(USER, results), runs], ['Fine.', 2])
      assert.deepEqual(
        reports.map(({ history, forced }) => [history, forced]),
        [
          ['whole', null],
          ['remembered', null],
          ['remembered', 'duplicate'],
        ],
      )
      assert.equal(reports[2].blocked[0].repeats, 2)
      assert.equal(requests.length, 4)
      // What the user says next continues the answer, and a new turn begins.
      assert.equal(await agent({ role: 'user', content: 'again' }, results), 'Fine.')
      assert.equal(runs, 4)
      const last = [...kept.values()].at(-1)
      assert.equal(JSON.stringify(last).match(/Fine\./g).length, 2)
    })

    test(`a store, ${how}: the provider gets results of the calls that were withheld`, async () => {
      const both = (n, history) =>
        APIS[wire].called(history).length < 8
          ? [...again(n), { id: `other_${n}`, name: 'ls', args: { path: `/${n}` } }]
          : []
      const { fetch, reports, kept } = proxied(wire, both, { store: memoryStore() })
      const ran = []
      const said = await AGENTS[wire](fetch, stream)(USER, ({ path }) => {
        ran.push(path)
        return 'same'
      })
      assert.equal(said, 'Fine.')
      assert.deepEqual(ran, ['.', '/1', '.', '/2', '/3', '/4'])
      assert.deepEqual(
        reports.map(({ repairs }) => repairs.map(({ code, toolCallId }) => [code, toolCallId])),
        [[], [], [], [['TOOL_CALL_UNANSWERED', 'call_3']], [['TOOL_CALL_UNANSWERED', 'call_4']]],
      )
      const history = JSON.stringify([...kept.values()].at(-1))
      assert.match(history, /already at hand/)
    })
  }

  test(`a store, ${wire}: other results are progress; volatile lines are none`, async () => {
    for (const [result, expected] of [
      [(n) => `at ${n}`, [undefined, 9]],
      [(n) => `Chunk ID: ${n}\nWall time: 0.${n} seconds\nnotes.txt`, ['Fine.', 2]],
    ]) {
      const { fetch, reports } = proxied(wire, again, { store: memoryStore() })
      let runs = 0
      const said = await AGENTS[wire](fetch, false)(USER, () => result((runs += 1)))
      assert.deepEqual([said, runs], expected)
      if (said === undefined) {
        assert.deepEqual(reports.at(-1).repeats[0], {
          ...reports.at(-1).repeats[0],
          times: 9,
          row: 9,
          isLoop: true,
        })
      }
    }
  })

  test(`a store, ${wire}: observe changes nothing, and says what bound would do`, async () => {
    const { fetch, reports, requests } = proxied(wire, again, {
      store: memoryStore(),
      mode: 'observe',
    })
    await AGENTS[wire](fetch, true)(USER, () => 'same')
    assert.equal(requests.length, 9)
    assert.deepEqual(
      reports.map(({ blocked }) => blocked.map(({ repeats }) => repeats)),
      [[], [], ...[2, 3, 4, 5, 6, 7, 8].map((repeats) => [repeats])],
    )
  })

  test(`a store, ${wire}: another tenant, an expired response and a failing store are partial`, async () => {
    const once = async (options, { between = () => {}, tenant = 'me' } = {}) => {
      const { fetch, reports, kept } = proxied(wire, again, options)
      const send = (body, name) =>
        fetch(`https://edge.example${WIRES[wire].path}`, {
          method: 'POST',
          headers: { 'x-tenant': name },
          body: JSON.stringify({ model: 'm', max_tokens: 9, ...body }),
        })
      const first = { thread: { type: 'create' }, [APIS[wire].history]: [USER] }
      await (await send(wire === 'messages' ? first : { input: [USER] }, 'me')).text()
      between()
      const [id] = kept.keys()
      const next =
        wire === 'messages'
          ? {
              thread: { type: 'continue', previous_message_id: id },
              messages: [
                {
                  role: 'user',
                  content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'x' }],
                },
              ],
            }
          : {
              previous_response_id: id,
              input: [{ type: 'function_call_output', call_id: 'call_1', output: 'x' }],
            }
      const response = await send(next, tenant)
      assert.equal(response.status, 200)
      await response.text()
      return reports.at(-1).history
    }
    assert.equal(await once({ store: memoryStore() }), 'remembered')
    assert.equal(await once({ store: memoryStore() }, { tenant: 'you' }), 'partial')
    let now = 0
    const aging = { store: memoryStore({ now: () => now }), limits: { rememberMs: 1000 } }
    assert.equal(await once(aging, { between: () => (now = 999) }), 'remembered')
    now = 0
    const old = { store: memoryStore({ now: () => now }), limits: { rememberMs: 1000 } }
    assert.equal(await once(old, { between: () => (now = 1001) }), 'partial')
    const errors = []
    const store = memoryStore()
    const fail = () => Promise.reject(new Error('the store is down'))
    const failing = { store: { ...bound(store), read: fail, commit: fail } }
    assert.equal(
      await once({ ...failing, onError: (error) => errors.push(error.message) }),
      'partial',
    )
    assert.deepEqual(new Set(errors), new Set(['the store is down']))
    // A store may be slower than the client.
    const slow = {
      ...bound(store),
      commit: async (...given) => {
        await new Promise((resolve) => setTimeout(resolve, 50))
        return store.commit(...given)
      },
    }
    assert.equal(await once({ store: slow }), 'remembered')
  })

  test(`a store, ${wire}: it gets signatures and hashes, no arguments and no results`, async () => {
    const states = []
    const store = memoryStore()
    const watched = {
      ...bound(store),
      commit: (turn, commit) => {
        states.push(commit.state)
        return store.commit(turn, commit)
      },
    }
    const secret = (n) => [{ id: `call_${n}`, name: 'ls', args: { path: '/secret-place' } }]
    const { fetch } = proxied(wire, secret, { store: watched })
    await AGENTS[wire](fetch, false)(USER, () => 'the secret result')
    assert.ok(states.length > 1)
    assert.doesNotMatch(states.join(), /secret/)
  })
}

test('a store: after a loop without an answer, a text continues the conversation', async () => {
  const { fetch, kept, reports } = proxied('responses', again, {
    store: memoryStore(),
    wrap: (answer) => (url, init) =>
      JSON.parse(Buffer.from(init.body).toString()).tool_choice === 'none'
        ? Response.json({ error: { message: 'busy' } }, { status: 503 })
        : answer(url, init),
  })
  const client = new OpenAI({
    baseURL: 'https://edge.example/v1',
    apiKey: 'k',
    maxRetries: 0,
    fetch,
  })
  const tools = [{ type: 'function', name: 'ls', parameters: LS }]
  let response
  let input = [USER]
  for (let round = 0; round < 3; round++) {
    const previous_response_id = response?.id
    response = await client.responses.create({ model: 'm', tools, input, previous_response_id })
    input = response.output
      .filter(({ type }) => type === 'function_call')
      .map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'same' }))
  }
  assert.match(response.output_text, /already at hand/)
  const next = { model: 'm', tools, input: 'Go on.', previous_response_id: response.id }
  const { output } = await client.responses.create(next)
  assert.equal(output[0].type, 'function_call')
  assert.deepEqual(
    reports.at(-1).repairs.map(({ code }) => code),
    ['TOOL_CALL_UNANSWERED'],
  )
  const history = [...kept.values()].at(-1)
  assert.deepEqual(
    history.slice(-3).map(({ type, role }) => type ?? role),
    ['function_call_output', 'user', 'function_call'],
  )
})

/** The methods of a store, as members of a plain object. */
const bound = (store) =>
  Object.fromEntries(
    ['read', 'commit', 'events', 'recall'].map((name) => [name, store[name].bind(store)]),
  )

test('a store: nothing is stored of a response that nobody can continue', async () => {
  const written = []
  const store = memoryStore()
  const watched = {
    ...bound(store),
    commit: (turn, commit) => {
      written.push(turn)
      return store.commit(turn, commit)
    },
  }
  for (const [wire, body] of [
    ['responses', { store: false, input: [USER] }],
    ['messages', { max_tokens: 9, messages: [USER] }],
  ]) {
    const { fetch } = proxied(wire, again, { store: watched })
    const url = `https://edge.example${WIRES[wire].path}`
    await (
      await fetch(url, { method: 'POST', body: JSON.stringify({ model: 'm', ...body }) })
    ).text()
  }
  assert.deepEqual(written, [])
})

test('options: a store must be one', () => {
  assert.throws(
    () => createProxy({ upstream: 'https://a.example', authorize: () => null, store: {} }),
    { code: 'options.invalid', message: /store/ },
  )
})
