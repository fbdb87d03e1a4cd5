// A route that is watched is watched however its path is spelled; headers that pass, and those that do not.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createProxy } from 'turnlock/proxy'
import { LOOP, looped, WIRES } from './wires.mjs'

/** A proxy, and what its provider was asked. */
function proxied(options, answer) {
  const [asked, reports] = [[], []]
  const proxy = createProxy({
    upstream: 'https://provider.example',
    authorize: () => ({ tenant: 'me' }),
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
      '/v1/chat/%63ompletions',
      '/v1/chat/completions/',
      '/v1//chat/completions',
      '//chat/completions',

      '/v1/chat%2Fcompletions',
      '/v1/chat%5ccompletions',
      '/v1/chat/completions;x=1',
      '/v1;y/chat/completions',

      '/v1/CHAT/Completions',
      '/v1/chat/completions%3Fx',
      '/v1/chat/completions%20',
      '/%76%31/chat/completions',
      '/v1/chat/%2563ompletions',
      '/v1/chat/%63ompletions;%zz',
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

// Addresses with `/v1` twice are common (BerriAI/litellm#36956 of 2026-08-14, router-for-me/CLIProxyAPI#3778
// of 2026-06-09, vercel/ai#15542 of 2026-05-22): some gateways answer them.
test('a path is watched by its last segments, whatever stands before them', async () => {
  for (const [wire, paths] of Object.entries({
    chat: [
      '/openai/deployments/x/chat/completions',
      '/openai/deployments/x%2Fy/chat/completions',
      '/api/v1/chat/completions',
      '/v1beta/openai/chat/completions',
      '/compat/V1/Chat%2Fcompletions;x',
    ],
    responses: ['/openai/v1/responses', '/openai/deployments/x/responses', '/v2/responses'],
    messages: [
      '/v1/beta/messages',
      '/v1/v1/messages',
      '/v2/messages',
      '/anthropic/v1/messages',
      '/v1/threads/messages',
    ],
  })) {
    const stream = WIRES[wire].stream({ calls: [LOOP] }, { n: 1, body: {} }).join('')
    const { proxy, asked, reports } = proxied({ mode: 'bound' }, () => new Response(stream))
    for (const path of paths) {
      const body = JSON.stringify(WIRES[wire].body(looped(2)))
      const sent = new Request(`https://edge.example${path}`, { method: 'POST', body })
      const text = await (await proxy(sent)).text()
      assert.ok(text !== '' && !text.includes(LOOP.id), `${path}: ${text}`)
      assert.equal(reports.at(-1).route, wire)
      assert.equal(asked.at(-1).url, `https://provider.example${path}`)
    }
  }
})

test('a path that is another passes unwatched, as it is spelled', async () => {
  const { proxy, asked, reports } = proxied({ mode: 'bound' }, () => new Response('{}'))
  const paths = [
    '/v1/messages/count_tokens',
    '/v1/responses/r1',
    '/v1/chat/completions/c1',
    '/v1/files/a%2Fb',
    '/v1/threads/thread_1/messages',
    '/v1/messages/batches',
    '/v1/messagesx',
    '/v1/mymessages',
    '/v1/completions',
    '/openai/deployments/x/embeddings',
    '/v1/embeddings',
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
  authorization: 'Bearer own',
  'x-api-key': 'own',
  'api-key': 'own',
  'x-goog-api-key': 'own',

  'openai-organization': 'org',
  'openai-project': 'project',
  'x-goog-user-project': 'project',
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

/**
 * Headers of the network before the proxy: the client's address, place, certificate and identity.
 * therealaleph/MasterHttpRelayVPN-RUST#104 (2026-04-23) lists those that leaked there;
 * open-webui/open-webui#28959 (2026-08-24) wants `x-forwarded-for` at a backend of its own.
 */
const CLIENT_HEADERS = [
  'x_forwarded_for',
  'z-forwarded-for',
  'xff',
  'x-ff',
  'x-socket-address',
  'x-client-dn',
  'x-client-city',
  'x-rewrite-url',
  'x-host',
  'x-user',
  'x-user-id',
  'x-user-email',
  'x-userinfo',
  'x-apigateway-api-userinfo',
  'x-authenticated-user',
  'x-authenticated-userid',
  'x-consumer-id',
  'via',
  'forwarded',
  'from',
  'x-forwarded',
  'x-forwarded-for',
  'x-forwarded-client-cert',
  'x-forwarded-host',
  'x-forwarded-server',
  'x-forwarded-ssl',
  'x-real-ip',
  'x-client-ip',
  'client-ip',
  'true-client-ip',
  'x-cluster-client-ip',
  'x-ip',
  'fastly-client-ip',
  'fly-client-ip',
  'do-connecting-ip',
  'cf-connecting-ip',
  'cf-ipcountry',
  'x-originating-ip',
  'x-remote-ip',
  'x-remote-addr',
  'remote-addr',
  'x-proxyuser-ip',
  'wl-proxy-client-ip',
  'proxy-client-ip',
  'x-azure-clientip',
  'x-azure-socketip',
  'x-user-ip',
  'x-original-forwarded-for',
  'x-envoy-external-address',
  'x-appengine-user-ip',
  'x-clientip',

  'x-appengine-city',
  'x-vercel-ip-city',
  'x-vercel-forwarded-for',
  'x-nf-client-connection-ip',

  'cloudfront-viewer-address',
  'x-akamai-edgescape',
  'x-client-geo-location',
  'x-geoip-country',
  'client-cert',
  'client-cert-chain',
  'x-ssl-client-cert',
  'x-arr-clientcert',
  'x-real-port',
  'remote-user',
  'x-remote-user',
  'remote-email',
  'x-webauth-user',
  'x-auth-request-email',
  'tailscale-user-login',
  'x-goog-authenticated-user-email',
  'x-goog-iap-jwt-assertion',
  'x-amzn-oidc-data',
  'x-ms-client-principal',
  'x-ms-token-aad-id-token',
  'x-authentik-email',
]
/**
 * Headers of other gateways: credentials, and the choice of a provider
 * (blue-pen5805/llm-proxy-on-cloudflare-workers#350, 2026-08-31).
 */
const GATEWAY_HEADERS = [
  'x-tfy-provider-name',
  'x-llm-provider',
  'x-target-url',
  'x-base-url',
  'openai-base-url',
  'x-upstream-url',
  'helicone-auth',
  'helicone-target-url',
  'helicone-user-id',
  'cf-aig-authorization',
  'x-portkey-api-key',
  'x-portkey-virtual-key',
  'x-portkey-custom-host',
  'x-portkey-config',
  'x-bt-parent',
  'x-langfuse-public-key',
  'x-langsmith-trace',
  'x-kong-request-id',
]
/** Credentials that are the client's (`x-pass-authorization`: BerriAI/litellm#32202, 2026-07-05). */
const CREDENTIALS = [
  'bearer',
  'x-bearer',
  'x-authz',
  'authorization2',
  'x-bf-vk',
  'x-litellm-key',
  'x-openrouter-key',
  'x-claude-key',
  'x-passwd',
  'x-pwd',
  'x-sid',
  'x-signature',
  'x-pass-authorization',
  'x-access-token',
  'x-gateway-token',
  'x-litellm-api-key',
  'x-secret',
  'x-session-token',

  'x-csrf-token',
  'x-api-secret',
  'x-password',
  'x-jwt',
  'x-apikey',
  'authentication',
  'x-auth',
  'x-subscription-key',
  'x-account-key',
  'x-credential',
  'x-auth-key',
  'proxy-auth-token',
]
/** Headers of real clients that a provider may need, or logs. */
const PASSED = [
  'anthropic-version',
  'anthropic-beta',
  'anthropic-dangerous-direct-browser-access',
  'openai-beta',
  'x-stainless-lang',
  'x-stainless-os',
  'x-stainless-helper-method',
  'x-stainless-retry-count',
  'x-stainless-timeout',
  'idempotency-key',
  'x-client-request-id',
  'user-agent',
  'accept',
  'content-type',
  'x-app',
  'x-claude-code-session-id',
  'session_id',

  'conversation_id',
  'originator',
  'version',
  'x-codex-turn-metadata',
  'http-referer',
  'x-title',

  'x-litellm-trace-id',
  'traceparent',
  'x-request-id',
  'x-ms-client-request-id',
  'prompt-cache-key',
  'x-amzn-bedrock-trace',
  'x-amz-date',
  'x-initiator',
  'copilot-integration-id',
  'priority',
]

/** The names, of those listed, that the provider received from each kind of path. */
async function received(options, names, keys = {}) {
  const { proxy, asked } = proxied(options, () => new Response('{}'))
  const headers = { ...keys, ...Object.fromEntries(names.map((name) => [name, 'client'])) }
  const all = []
  for (const path of ['/v1/embeddings', '/v1/chat/completions', '/v1/messages']) {
    const init = { method: 'POST', body: '{"messages":[]}', headers }
    await (await proxy(new Request(`https://edge.example${path}`, init))).text()
    all.push(names.filter((name) => asked.at(-1).headers.get(name) === 'client'))
  }
  for (const list of all) assert.deepEqual(list, all[0])
  return all[0]
}

test('headers of the network, of gateways and credentials are dropped; those of clients pass', async () => {
  const url = 'https://provider.example'
  const dropped = [...CLIENT_HEADERS, ...GATEWAY_HEADERS]
  for (const upstream of [
    url,
    { url, apiKey: 'edge' },
    { url, apiKey: 'edge', passAuthorization: true },
  ]) {
    assert.deepEqual(await received({ upstream }, [...dropped, ...CREDENTIALS, ...PASSED]), PASSED)
  }
  // The client's own credentials pass with its key; those of a gateway before the proxy do not.
  const upstream = { url, passAuthorization: true }
  const names = [...dropped, ...CREDENTIALS, ...PASSED]
  assert.deepEqual(await received({ upstream }, names), [...CREDENTIALS, ...PASSED])
})

test('forwardHeaders: the host keeps listed headers, in any case, and no other', async () => {
  const upstream = { url: 'https://provider.example', apiKey: 'edge' }
  const names = [...CLIENT_HEADERS, ...GATEWAY_HEADERS, ...CREDENTIALS, 'cookie', 'origin']
  for (const name of names.filter((name) => name !== 'origin')) {
    const options = { upstream, forwardHeaders: [name.toUpperCase()] }
    assert.deepEqual(
      await received(
        options,
        names.filter((other) => other !== 'origin'),
      ),
      [name],
    )
  }
  const forwardHeaders = ['openai-organization', 'x-client-ip']
  assert.deepEqual(
    await received({ upstream, forwardHeaders }, [...forwardHeaders, 'via']),
    forwardHeaders,
  )
})

test('forwardHeaders: what cannot be forwarded is refused, with the place of the option', () => {
  const good = { upstream: 'https://provider.example', authorize: () => ({ tenant: 'me' }) }
  for (const [forwardHeaders, words] of [
    ['via', /^`forwardHeaders`: expected a list/],
    [[7], /^`forwardHeaders\[0\]`: expected a header name/],
    [['via', 'x ip'], /^`forwardHeaders\[1\]`: expected a header name/],
    [[''], /^`forwardHeaders\[0\]`/],
    [['Connection'], /not about one connection, unlike connection/],
    [['host'], /unlike host/],
    [['content-length'], /content-length/],
    [['Authorization'], /passAuthorization/],
    [['x-api-key'], /passAuthorization/],
  ]) {
    assert.throws(
      () => createProxy({ ...good, forwardHeaders }),
      (error) => error.code === 'options.invalid' && words.test(error.message),
      JSON.stringify(forwardHeaders),
    )
  }
})

/** Characters that some server takes for a dot or a slash, does not see, or strips from a segment. */
const DOTS = ['.', '%2e', '%252e', '%ef%bc%8e', '%e2%80%a4']
const CUT = [
  '%3f',
  '%23',
  '%3b',
  '%09',
  '%20',
  '%c2%a0',
  '%e3%80%80',
  '%01',
  '%e2%80%8b',
  '%ef%bb%bf',
]

test('a path with a folder above, in any characters that a server may take for it, is refused', async () => {
  const { proxy, asked } = proxied({}, () => new Response('{}'))
  const above = [
    ...DOTS.flatMap((one) => DOTS.map((two) => one + two)),
    '%e2%80%a5',
    '%ef%bc%8e.',
    '.%e2%80%8b.',
    '.%c2%ad.',
    '.%09.',
    ...CUT.flatMap((cut) => [`..${cut}`, `%2e%2e${cut}`, `..${cut.replace('%', '%25')}`]),
    '..%20.',
    '...',
    '..%20%20',
    '..%3fx=1',
    '..%23x',
    '%20..',
    '%09..',
    '..%3b%3f',
  ]
  const slashes = ['/', '%2f', '%5c', '%ef%bc%8f', '%ef%bc%bc', '%e2%88%95', '%e2%81%84']
  const paths = above.flatMap((own) => [
    `/v1/x/${own}`,
    `/v1/x/${own}/admin`,
    ...slashes.map((slash) => `/v1/x${slash}${own}${slash}admin`),
  ])
  for (const path of paths) {
    const sent = new Request(`https://edge.example${path}`, { method: 'POST', body: '{}' })
    // What the runtime resolves itself is no path of the client's.
    if (!sent.url.endsWith(path)) continue
    const response = await proxy(sent)
    assert.equal(response.status, 400, path)
    assert.equal((await response.json()).error.code, 'request.path')
  }
  assert.deepEqual(asked, [])
  for (const path of [
    '/v1/files/a..b',
    '/v1/files/.hidden',
    '/v1/files/a.%20b',
    '/v1/models/x%3a1.5',
  ]) {
    await proxy(new Request(`https://edge.example${path}`, { method: 'POST', body: '{}' }))
    assert.equal(asked.at(-1).url, `https://provider.example${path}`)
  }
})

test('a path that some server normalizes to a watched one is watched', async () => {
  const ends = [
    '.',
    '..',
    '%2e',
    '%252e',
    '.%20',
    '%20',
    '%2520',
    '%09',
    '%c2%a0',
    '%e3%80%80',
    '%01',
  ]
  ends.push(
    '%e2%80%8b',
    '%ef%bb%bf',
    '%c2%ad',
    '%3f',
    '%23',
    '%ef%bc%8e',
    '.json',
    ';a=b',
    '/',
    '%ef%bc%8f',
  )
  for (const [wire, { path, stream, body }] of Object.entries(WIRES)) {
    const answer = stream({ calls: [LOOP] }, { n: 1, body: {} }).join('')
    const { proxy, asked, reports } = proxied({ mode: 'bound' }, () => new Response(answer))
    const folded = [
      path.replace(/s$/, '%c5%bf'),
      path.replace('s', '%C5%BF'),
      path.replace(/s$/, '%25c5%25bf'),
      path.replace(/e/, '%ef%bd%85'),
      path.replace(/e/, '%ef%bc%a5'),
      path.replace(/(.)$/, '%e2%80%8b$1'),
      path.replace(/(.)$/, '%09$1'),
      path.replace('/v1', '/v1%20'),
      path.replace('/v1', '/v1.'),
      path.replace('/v1/', '/v1%ef%bc%8f'),
    ]
    for (const odd of [...ends.map((end) => path + end), ...folded]) {
      const sent = new Request(`https://edge.example${odd}`, {
        method: 'POST',
        body: JSON.stringify(body(looped(2))),
      })
      const [before, response] = [asked.length, await proxy(sent)]
      const text = await response.text()
      assert.ok(!text.includes(LOOP.id), odd)
      // Or it is refused.
      if (response.status === 400 && asked.length === before) continue
      assert.equal(reports.at(-1)?.route, wire, odd)
      assert.equal(asked.at(-1).url, `https://provider.example${new URL(sent.url).pathname}`)
    }
  }
})

test('a path with invalid UTF-8 in its percent-encoding is refused, however often it is encoded', async () => {
  const { proxy, asked } = proxied(
    { upstream: 'https://provider.example/base' },
    () => new Response('{}'),
  )
  const status = async (path) =>
    (await proxy(new Request(`https://edge.example${path}`, { method: 'POST', body: '{}' }))).status
  for (const bytes of [
    '%c0%ae%c0%ae',
    '%c0%af',
    '%c1%9c',
    '%e0%80%ae',
    '%e0%80%af',
    '%f0%80%80%ae',
    '%f8%80%80%80%ae',

    '%fc%80%80%80%80%ae',
    '%80',
    '%bf',
    '%ff',
    '%fe',
    '%c3',
    '%e2%82',
    '%ed%a0%80',
    '%f4%90%80%80',
    '%u002e%u002e',
    '%U002F',
    '%C0%2E',
    'caf%e9',
  ]) {
    const twice = bytes.replaceAll('%', '%25')
    for (const path of [
      bytes,
      `${bytes}/admin`,
      `v1/${bytes}/x`,
      `v1/x${bytes}`,
      twice,
      `%zz/${bytes}`,
    ]) {
      const before = asked.length
      assert.equal(await status(`/${path}`), 400, path)
      assert.equal(asked.length, before, path)
    }
  }
  for (const path of [
    '/v1/files/%C3%A4',
    '/v1/files/%F0%9F%98%80',
    '/v1/files/100%',
    '/v1/files/%zz',
  ]) {
    assert.equal(await status(path), 200, path)
    assert.equal(asked.at(-1).url, `https://provider.example/base${path}`)
  }
})

test('a path is passed on only if every decoding of it is UTF-8 and stays below the provider', async () => {
  const { proxy, asked } = proxied(
    { upstream: 'https://provider.example/base' },
    () => new Response('{}'),
  )
  const byte = fc.oneof(
    fc.constantFrom(0x2e, 0x2f, 0x5c, 0xc0, 0xae, 0xaf, 0x80, 0xe0, 0xc3, 0xa4, 0x41),
    fc.integer({ min: 1, max: 255 }),
  )
  const encode = (bytes, times) => {
    let text = bytes.map((value) => `%${value.toString(16).padStart(2, '0')}`).join('')
    for (let n = 1; n < times; n++) text = text.replaceAll('%', '%25')
    return text
  }
  await fc.assert(
    fc.asyncProperty(
      fc.array(byte, { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 3 }),
      async (bytes, times) => {
        const before = asked.length
        const path = `/v1/files/${encode(bytes, times)}/x`
        const { status } = await proxy(new Request(`https://edge.example${path}`))
        const isSent = asked.length > before
        assert.equal(status, isSent ? 200 : 400)
        let isText = true
        try {
          new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes))
        } catch {
          isText = false
        }
        if (!isText) assert.ok(!isSent, path)
        if (isSent)
          assert.ok(asked.at(-1).url.startsWith('https://provider.example/base/v1/files/'), path)
      },
    ),
    { numRuns: 500 },
  )
})

test("what is about the client's connection stays on it", async () => {
  const { proxy, asked } = proxied({}, () => new Response('{}'))
  const own = {
    connection: 'keep-alive, x-listed',
    'x-listed': '1',
    'keep-alive': 'timeout=5',
    'proxy-connection': 'keep-alive',
    'proxy-authorization': 'Basic x',
    te: 'trailers',
    trailer: 'x-sum',
    'transfer-encoding': 'chunked',
    expect: '100-continue',
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
