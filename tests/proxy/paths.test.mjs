// A route that is watched is watched however its path is spelled; headers that pass, and those that do not.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProxy } from 'turnlock/proxy'
import { LOOP, looped, WIRES } from './wires.mjs'

/** A proxy, and what its provider was asked. */
function proxied(options, answer) {
  const [asked, reports] = [[], []]
  const proxy = createProxy({
    ...{ upstream: 'https://provider.example', authorize: () => ({ tenant: 'me' }) },
    onReport: (report) => reports.push(report),
    fetch: async (url, init) => {
      asked.push({ url, ...init })
      return answer()
    },
    ...options,
  })
  return { proxy, asked, reports }
}

test('an odd spelling of a path that is watched is watched, and sent on as it is', async () => {
  for (const [wire, paths] of Object.entries({
    chat: [
      ...[
        '/v1/chat/%63ompletions',
        '/v1/chat/completions/',
        '/v1//chat/completions',
        '//chat/completions',
      ],
      ...[
        '/v1/chat%2Fcompletions',
        '/v1/chat%5ccompletions',
        '/v1/chat/completions;x=1',
        '/v1;y/chat/completions',
      ],
      ...[
        '/v1/CHAT/Completions',
        '/v1/chat/completions%3Fx',
        '/v1/chat/completions%20',
        '/%76%31/chat/completions',
      ],
      ...['/v1/chat/%2563ompletions', '/v1/chat/%63ompletions;%zz'],
    ],
    responses: ['/v1/responses/', '/%72esponses', '/v1/responses;x', '/v1/Responses'],
    messages: ['/v1/messages/', '/v1/%6Dessages', '//messages', '/v1%2fmessages'],
  })) {
    const stream = WIRES[wire].stream({ calls: [LOOP] }, { n: 1, body: {} }).join('')
    const { proxy, asked, reports } = proxied({ mode: 'bound' }, () => new Response(stream))
    for (const path of paths) {
      const body = JSON.stringify(WIRES[wire].body(looped(2)))
      const sent = new Request(`https://edge.example${path}?q=1`, { method: 'POST', body })
      const text = await (await proxy(sent)).text()
      assert.ok(text !== '' && !text.includes(LOOP.id), `${path}: ${text}`)
      assert.equal(reports.at(-1).route, wire)
      assert.equal(asked.at(-1).url, `https://provider.example${new URL(sent.url).pathname}?q=1`)
    }
  }
})

test('a path that is another passes unwatched, as it is spelled', async () => {
  const { proxy, asked, reports } = proxied({ mode: 'bound' }, () => new Response('{}'))
  const paths = [
    ...[
      '/v1/messages/count_tokens',
      '/v1/responses/r1',
      '/v1/chat/completions/c1',
      '/v1/files/a%2Fb',
    ],
    ...['/v2/messages', '/v1/v1/messages', '/v1/messagesx', '/v1/embeddings'],
  ]
  for (const path of paths) {
    const sent = new Request(`https://edge.example${path}`, { method: 'POST', body: 'x' })
    assert.equal((await proxy(sent)).status, 200)
    assert.equal(asked.at(-1).url, `https://provider.example${path}`)
  }
  // Encoded more often than any server decodes.
  const sent = new Request('https://edge.example/v1/%25252563hat/completions', { method: 'POST' })
  assert.equal((await proxy(sent)).status, 400)
  assert.equal(asked.length, paths.length)
  assert.deepEqual(reports, [])
})

/** Credentials of a client, and the accounts that they bill. */
const KEYS = {
  ...{ authorization: 'Bearer own', 'x-api-key': 'own', 'api-key': 'own', 'x-goog-api-key': 'own' },
  ...{
    'openai-organization': 'org',
    'openai-project': 'project',
    'x-goog-user-project': 'project',
  },
}

test("what is the client's account stays at the edge, unless its key is passed on", async () => {
  const url = 'https://provider.example'
  for (const [upstream, passed] of [
    [{ url, apiKey: 'edge' }, false],
    [{ url, apiKey: 'edge', passAuthorization: true }, false],
    [{ url, headers: { 'x-own-key': 'edge' } }, false],
    [{ url, passAuthorization: true }, true],
  ]) {
    const { proxy, asked } = proxied({ upstream }, () => new Response('{}'))
    for (const [method, body, path] of [
      ['GET', undefined, '/v1/models'],
      ['POST', '{"messages":[]}', '/v1/chat/completions'],
    ]) {
      const headers = { ...KEYS, 'x-app': 'cli', 'anthropic-beta': 'b' }
      await (
        await proxy(new Request(`https://edge.example${path}`, { method, body, headers }))
      ).text()
      const { headers: sent } = asked.at(-1)
      assert.deepEqual([sent.get('x-app'), sent.get('anthropic-beta')], ['cli', 'b'])
      const own = Object.entries(KEYS).filter(([name, value]) => sent.get(name) === value)
      assert.equal(own.length, passed ? Object.keys(KEYS).length : 0)
      if (upstream.apiKey) assert.equal(sent.get('authorization'), 'Bearer edge')
    }
  }
})

test("what is about the client's connection stays on it", async () => {
  const { proxy, asked } = proxied({}, () => new Response('{}'))
  const own = {
    ...{ connection: 'keep-alive, x-listed', 'x-listed': '1', 'keep-alive': 'timeout=5' },
    ...{ 'proxy-connection': 'keep-alive', 'proxy-authorization': 'Basic x', te: 'trailers' },
    ...{ trailer: 'x-sum', 'transfer-encoding': 'chunked', expect: '100-continue' },
  }
  for (const path of ['/v1/embeddings', '/v1/chat/completions']) {
    const headers = { ...own, 'x-app': 'cli' }
    const init = { method: 'POST', body: '{"messages":[]}', headers }
    await (await proxy(new Request(`https://edge.example${path}`, init))).text()
    const { headers: sent } = asked.at(-1)
    assert.equal(sent.get('x-app'), 'cli')
    const passed = Object.keys(own).filter((name) => sent.has(name))
    assert.deepEqual(passed, [])
  }
})

test('the report is the one of the proxy, whatever a provider says', async () => {
  const forged = () =>
    new Response('{}', { headers: { 'x-turnlock-report': 'forged', 'x-own': '1' } })
  const { proxy } = proxied({}, forged)
  for (const [path, init] of [
    ['/v1/models', {}],
    ['/v1/messages', { method: 'POST', body: '{}' }],
  ]) {
    const { headers } = await proxy(new Request(`https://edge.example${path}`, init))
    const report = headers.get('x-turnlock-report')
    assert.equal(headers.get('x-own'), '1')
    assert.equal(report && JSON.parse(report).mode, init.body ? 'observe' : null)
  }
})
