// The built command, as a process.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { anthropic, defineTool, openaiChat, runTurn, signature } from 'turnlock'
import { createProvider } from '../../tests/provider/server.mjs'

const folder = new URL('../', import.meta.url)
const { bin } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'))
const turnlock = (...args) =>
  spawnSync(process.execPath, [fileURLToPath(new URL(bin.turnlock, folder)), ...args], {
    encoding: 'utf8',
  })

test('sign says the signature that a turn computes, however the arguments are spelled', () => {
  const expected = signature({ tool: 'find', args: { a: 1, b: 'é' } })
  for (const args of ['{"a":1,"b":"é"}', '{ "b": "\\u00e9", "a": 1.0 }']) {
    const { stdout, status } = turnlock('sign', 'find', args)
    assert.deepEqual([stdout, status], [`${expected}\n`, 0])
  }
  const { stdout } = turnlock('sign', 'find', '{"a":1,"b":"é"}', '--json')
  assert.deepEqual(JSON.parse(stdout), { tool: 'find', signature: expected })
  const acted = turnlock('sign', 'find', '{}', '--action', 'x', '--project', 'p').stdout.trim()
  assert.equal(acted, signature({ tool: 'find', args: {}, action: 'x', projectId: 'p' }))
})

test('what cannot be read ends with 2, and prints no signature', () => {
  const wrong = [[], ['sign'], ['sign', 'find'], ['sign', 'find', '{"a":'], ['sing', 'a', '{}']]
  for (const args of [...wrong, ['sign', 'a', '{"a":1,"a":2}'], ['sign', 'a', '{}', '--no']]) {
    const { stdout, stderr, status } = turnlock(...args)
    assert.deepEqual([stdout, status, stderr.length > 0], ['', 2, true], args.join(' '))
  }
})

const BROKEN = JSON.stringify({
  model: 'm',
  messages: [
    { role: 'user', content: 'go' },
    { role: 'tool', tool_call_id: 'gone', content: '42' },
    { role: 'user', content: 'and now?' },
  ],
})
const fed = (input, ...args) =>
  spawnSync(process.execPath, [fileURLToPath(new URL(bin.turnlock, folder)), ...args], {
    encoding: 'utf8',
    input,
  })

test('doctor says what a provider refuses, repairs it, and ends with 0, 1 or 2', () => {
  const { stdout, status } = fed(BROKEN, 'doctor', '-', '--dialect', 'openai-chat')
  assert.equal(status, 1)
  assert.match(stdout, /^OpenAI request body/)
  assert.match(stdout, /✕ openai-chat rejects it: 1/)
  assert.match(stdout, /\[1\] TOOL_RESULT_ORPHAN: /)
  assert.match(stdout, /repairs:\n {2}\[1\] dropped, TOOL_RESULT_ORPHAN: /)
  const at = mkdtempSync(join(tmpdir(), 'turnlock-'))
  const fixed = join(at, 'fixed.json')
  fed(BROKEN, 'doctor', '-', '--dialect', 'anthropic', '--fix', fixed)
  const again = turnlock('doctor', fixed, '--dialect', 'anthropic', '--json')
  assert.equal(again.status, 0, again.stdout + again.stderr)
  assert.deepEqual(JSON.parse(again.stdout).violations, [])
  const all = JSON.parse(fed(BROKEN, 'doctor', '-', '--json').stdout).dialects
  assert.equal(Object.keys(all).length, 13)
  assert.equal(all['openai-chat'], 1)
  rmSync(at, { recursive: true })
  const PLAIN = JSON.stringify([{ role: 'user', content: 'go' }])
  for (const [input, ...args] of [
    ['{"a":', 'doctor', '-'],
    ['{"a":1}', 'doctor', '-'],
    [BROKEN, 'doctor', '-', '--dialect', 'no'],
    [PLAIN, 'doctor', '-', '--fix', 'x'],
    ['{"error":{"message":"overloaded"}}', 'doctor', '-', '--dialect', 'xai', '--fix', 'x'],
    ['', 'doctor', '/nowhere/to/be/found'],
    ['', 'doctor'],
  ]) {
    const { status, stderr } = fed(input, ...args)
    assert.deepEqual([status, stderr.length > 0], [2, true], args.join(' '))
    assert.ok(!stderr.includes('    at '), stderr)
  }
})

test('whose request it is decides what doctor ends with; what is nobody’s is asked of all', () => {
  const user = { role: 'user', content: 'go' }
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
  const openai = [
    user,
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'a', content: 'x' },
    user,
  ]
  const anthropic = [
    user,
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }] },
  ]
  const gemini = { contents: [{ role: 'user', parts: [{ text: 'go' }] }] }
  const curl = (address, messages) => `curl ${address} -d '${JSON.stringify({ messages })}'`
  for (const [input, dialect] of [
    [JSON.stringify({ model: 'm', messages: openai }), 'openai-chat'],
    [JSON.stringify(openai), 'openai-chat'],
    [JSON.stringify({ model: 'm', messages: anthropic }), 'anthropic'],
    [JSON.stringify({ model: 'm', input: openai.slice(0, 1) }), 'openai-responses'],
    [JSON.stringify(gemini), 'gemini'],
    [curl('https://api.groq.com/openai/v1/chat/completions', openai), 'groq'],
    [curl('http://127.0.0.1:11434/api/chat', [user]), 'ollama'],
    [curl('https://api.anthropic.com/v1/messages', [user]), 'anthropic'],
  ]) {
    const { status, stdout } = fed(input, 'doctor', '-', '--json')
    const found = JSON.parse(stdout)
    assert.deepEqual([status, found.dialect, found.dialects[dialect]], [0, dialect, 0], input)
    assert.equal(Object.keys(found.dialects).length, 13)
  }
  const shown = fed(JSON.stringify({ model: 'm', messages: openai }), 'doctor', '-')
  assert.match(
    shown.stdout,
    /✓ openai-chat accepts it as it is\nas it stands, these accept it too: .*groq/,
  )
  assert.match(shown.stdout, /Turnlock converts it for: .*anthropic/)
  // What is taken and would be sent otherwise: arguments that are no JSON.
  const unread = JSON.parse(JSON.stringify(openai))
  unread.find((one) => one.tool_calls).tool_calls[0].function.arguments = '{"path":'
  const otherwise = (args, messages) =>
    fed(JSON.stringify({ model: 'm', messages }), 'doctor', '-', ...args).stdout
  const hint =
    /✓ openai-chat accepts it as it is\nTurnlock sends it in another form; --diff shows which/
  assert.match(otherwise([], unread), hint)
  assert.doesNotMatch(otherwise([], openai), hint)
  const diff = otherwise(['--diff'], unread)
  assert.match(diff, /^-.*path/m)
  assert.doesNotMatch(diff, hint)
  const parts = [{ type: 'text', text: 'go' }]
  for (const nobody of [[user], { messages: [{ id: 'm', role: 'user', parts }] }]) {
    const { dialect, dialects } = JSON.parse(
      fed(JSON.stringify(nobody), 'doctor', '-', '--json').stdout,
    )
    assert.deepEqual([dialect, Object.keys(dialects).length], [undefined, 13])
  }
  const at = mkdtempSync(join(tmpdir(), 'turnlock-'))
  const fixed = join(at, 'fixed.json')
  const { stdout, status } = fed(BROKEN, 'doctor', '-', '--fix', fixed)
  assert.equal(status, 1)
  assert.ok(stdout.includes(`wrote ${fixed}, as openai-chat accepts it`))
  assert.equal(turnlock('doctor', fixed, '--dialect', 'openai-chat').status, 0)
  rmSync(at, { recursive: true })
})

test('doctor shows repeated calls, and no control characters of others', () => {
  const call = (id) => ({
    id,
    type: 'function',
    function: { name: 'look', arguments: '{"a":"\\u001b[31m"}' },
  })
  const round = (id) => [
    { role: 'assistant', content: null, tool_calls: [call(id)] },
    { role: 'tool', tool_call_id: id, content: 'x\u001b[2J' },
  ]
  const history = [{ role: 'user', content: 'go' }, ...round('a'), ...round('b'), ...round('c')]
  const { stdout } = fed(JSON.stringify(history), 'doctor', '-', '--dialect', 'openai-chat')
  assert.match(stdout, /repeated within a user turn:\n {2}3× look /)
  assert.ok(!/[\u0000-\u0009\u000b-\u001f]/.test(stdout), JSON.stringify(stdout))
})

test('proxy bounds a client on this machine, and says so', async (t) => {
  const provider = await createProvider()
  t.after(() => provider.close())
  const upstream = `${provider.url}/s/cli/one-call/v1`
  const path = fileURLToPath(new URL(bin.turnlock, folder))
  const args = [path, 'proxy', '--upstream', upstream, '--mode', 'bound', '--port', '0', '--json']
  const child = spawn(process.execPath, [...args, '--max-repeats', '1'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const next = async () => JSON.parse((await lines.next()).value)
  const { address, mode } = await next()
  assert.equal(mode, 'bound')
  const ask = (messages) =>
    fetch(`${address}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer own-key' },
      body: JSON.stringify({
        model: 'm',
        stream: true,
        messages,
        tools: [{ type: 'function', function: { name: 'list_files', parameters: {} } }],
      }),
    })
  const user = { role: 'user', content: 'list' }
  const response = await ask([user])
  assert.match(await response.text(), /list_files/)
  const { calls, blocked, status, route } = await next()
  assert.deepEqual([calls, blocked, status, route], [['list_files'], [], 200, 'chat'])
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  assert.equal(code, 0)
  const { total } = await next()
  assert.deepEqual(total, { requests: 1, repaired: 0, refused: 0, failed: 0 })
})

test('proxy reports loops, blocks by count if asked, and remembers stored conversations', async (t) => {
  const upstream = createServer(async (request, response) => {
    const pieces = []
    for await (const piece of request) pieces.push(piece)
    const body = JSON.parse(Buffer.concat(pieces))
    const call = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' }
    const said = { type: 'message', role: 'assistant', content: [] }
    const output = [body.tool_choice === 'none' ? said : { ...call, id: 'fc_1' }]
    const answer = { id: 'resp_1', object: 'response', status: 'completed', output }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(answer))
  })
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  t.after(() => upstream.close())
  const url = `http://127.0.0.1:${upstream.address().port}/v1`
  const path = fileURLToPath(new URL(bin.turnlock, folder))
  const call = (n) => [
    { type: 'function_call', call_id: `c${n}`, name: 'look', arguments: '{}' },
    { type: 'function_call_output', call_id: `c${n}`, output: `at ${n}` },
  ]
  const polled = [{ role: 'user', content: 'go' }, ...[1, 2, 3, 4, 5, 6, 7].flatMap(call)]
  const next = { type: 'function_call_output', call_id: 'call_1', output: 'at 8' }
  const run = async (...more) => {
    const args = [path, 'proxy', '--upstream', url, '--mode', 'bound', '--port', '0', ...more]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    t.after(() => child.kill('SIGKILL'))
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    const line = async () => (await lines.next()).value
    const [address] = /http:\S+?v1/.exec(await line())
    const found = []
    for (const body of [{ input: polled }, { previous_response_id: 'resp_1', input: [next] }]) {
      const tools = [{ type: 'function', name: 'look' }]
      const sent = { method: 'POST', body: JSON.stringify({ model: 'm', tools, ...body }) }
      await (await fetch(`${address}/responses`, sent)).text()
      found.push(await line())
    }
    child.kill('SIGTERM')
    await once(child, 'exit')
    return found
  }
  const [loop, longer] = await run()
  assert.match(loop, /calls look; loop: look 8 times in a row$/)
  assert.match(longer, /loop: look 9 times in a row$/)
  const [blocked] = await run('--max-same-call', '7')
  assert.match(blocked, /look refused \(.*answer forced: duplicate$/)
  const [, remembered] = (await run('--json')).map((line) => JSON.parse(line))
  assert.equal(remembered.history, 'remembered')
})

test('proxy says what it would do as that, and why an upstream fails', async (t) => {
  const path = fileURLToPath(new URL(bin.turnlock, folder))
  const gone = await createProvider()
  await gone.close()
  const run = (mode) => {
    const args = ['proxy', '--upstream', `${gone.url}/v1`, '--mode', mode, '--port', '0']
    const child = spawn(process.execPath, [path, ...args])
    t.after(() => child.kill('SIGKILL'))
    return child
  }
  const totals = {
    observe: '3 requests, 1 would be repaired, 0 would be refused, 3 failed',
    repair: '3 requests, 1 repaired, 0 would be refused, 3 failed',
    bound: '3 requests, 1 repaired, 0 refused, 3 failed',
  }
  for (const [mode, total] of Object.entries(totals)) {
    const child = run(mode)
    const errors = child.stderr.toArray()
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    const next = async () => (await lines.next()).value
    const [, address] = /(http:\S+) →/.exec(await next())
    // Another path than those of models.
    assert.equal((await fetch(`${address}/models`)).status, 502)
    assert.match(await next(), /^502 GET +\/v1\/models /)
    const response = await fetch(`${address}/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer own', 'content-type': 'application/json' },
      body: BROKEN,
    })
    assert.equal(response.status, 502)
    assert.match(await next(), /TOOL_RESULT_ORPHAN (would be )?repaired/)
    // Refused before it is read, in one mode; its report says so in the others.
    await fetch(`${address}/chat/completions`, { method: 'POST', body: '{bad' })
    assert.match(
      await next(),
      mode === 'bound' ? /^400 POST +\/v1\/chat\/completions / : /^502 chat /,
    )
    child.kill('SIGTERM')
    assert.equal(await next(), total)
    assert.match(Buffer.concat(await errors).toString(), /ECONNREFUSED/, mode)
  }
})

test('proxy --forward-headers keeps headers that are dropped by default', async (t) => {
  const received = []
  const provider = createServer((request, response) => {
    received.push(request.headers)
    response.setHeader('content-type', 'application/json')
    response.end('{}')
  }).listen(0, '127.0.0.1')
  t.after(() => provider.close())
  await once(provider, 'listening')
  const path = fileURLToPath(new URL(bin.turnlock, folder))
  const upstream = `http://127.0.0.1:${provider.address().port}/v1`
  const args = ['proxy', '--upstream', upstream, '--port', '0', '--json']
  const more = ['--forward-headers', 'Helicone-Auth,via']
  const child = spawn(process.execPath, [path, ...args, ...more], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const { address } = JSON.parse((await lines.next()).value)
  const headers = { 'helicone-auth': 'a', via: 'b', 'x-client-ip': 'c' }
  const body = '{"messages":[]}'
  await (await fetch(`${address}/chat/completions`, { method: 'POST', headers, body })).text()
  const [{ 'helicone-auth': auth, via, 'x-client-ip': ip }] = received
  assert.deepEqual([auth, via, ip], ['a', 'b', undefined])
})

test('proxy answers to the names of this machine alone, so a page of another name spends no key', async (t) => {
  const asked = []
  const provider = createServer((request, response) => {
    asked.push(request.headers.authorization)
    response.setHeader('content-type', 'application/json')
    response.end('{}')
  }).listen(0, '127.0.0.1')
  t.after(() => provider.close())
  await once(provider, 'listening')
  const path = fileURLToPath(new URL(bin.turnlock, folder))
  const upstream = `http://127.0.0.1:${provider.address().port}/v1`
  const more = ['--key-env', 'OWN_KEY', '--allow-host', 'llm.example,other.example:1']
  const args = [path, 'proxy', '--upstream', upstream, '--port', '0', '--json', ...more]
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, OWN_KEY: 'operator' },
  })
  t.after(() => child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const { port } = new URL(JSON.parse((await lines.next()).value).address)
  // `fetch` sends no `Host` of one's own.
  const send = (host, origin, method = 'POST', own = '/v1/chat/completions') =>
    new Promise((resolve, reject) => {
      const headers = { host, ...(origin && { origin, 'sec-fetch-site': 'same-origin' }) }
      const sent = request({ host: '127.0.0.1', port, path: own, method, headers }, (response) => {
        response.resume().once('end', () => resolve(response))
      })
      sent.once('error', reject).end(method === 'POST' ? '{"messages":[]}' : undefined)
    })
  for (const name of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example']) {
    for (const [method, own] of [['POST'], ['DELETE', '/v1/files/f'], ['GET', '/v1/models']]) {
      for (const origin of [undefined, `http://${name}:${port}`]) {
        const { statusCode, headers } = await send(`${name}:${port}`, origin, method, own)
        assert.deepEqual([statusCode, headers['access-control-allow-origin']], [403, undefined])
      }
    }
  }
  assert.equal((await send('other.example:2')).statusCode, 403)
  assert.deepEqual(asked, [])
  const local = [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`]
  for (const name of [...local, 'llm.example', 'other.example:1']) {
    assert.equal((await send(name, `http://${name}`)).statusCode, 200, name)
  }
  assert.deepEqual(asked, Array(5).fill('Bearer operator'))
  assert.equal(turnlock('proxy', '--upstream', upstream, '--allow-host', 'a/b').status, 2)
})

test('serve is a scripted model on every wire', async (t) => {
  const path = fileURLToPath(new URL(bin.turnlock, folder))
  const child = spawn(process.execPath, [path, 'serve', '--port', '0', '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const { address, behaviour } = JSON.parse((await lines.next()).value)
  assert.equal(behaviour, 'loop-then-answer')
  const execute = () => ['notes.txt']
  const list_files = defineTool({ description: 'x', inputSchema: {}, readOnly: true, execute })
  const looping = address.replace('/v1', '/loop/v1')
  for (const model of [
    openaiChat({ baseURL: address, model: 'm' }),
    openaiChat({ baseURL: looping, model: 'm' }),
    anthropic({ baseURL: address, model: 'm' }),
  ]) {
    // The same words once more are a turn of their own, as long as the first one.
    const asked = []
    for (const content of ['what?', 'what?']) {
      const messages = [{ role: 'user', content }]
      const turn = runTurn({ model, messages, tools: { list_files } })
      const { text, toolResults, inferences } = await turn.result
      assert.match(text, /notes\.txt/)
      assert.equal(toolResults.length, 1)
      asked.push(inferences)
    }
    assert.equal(asked[0], asked[1])
  }
  // A tool result, which the user says on this wire, begins no other conversation: this model writes
  // its arguments anew in each answer of one.
  const asked = { role: 'user', content: [{ type: 'text', text: 'which?' }] }
  const use = { type: 'tool_use', id: 'c1', name: 'list_files', input: {} }
  const result = { type: 'tool_result', tool_use_id: 'c1', content: 'refused' }
  const next = [asked, { role: 'assistant', content: [use] }, { role: 'user', content: [result] }]
  const said = []
  for (const messages of [[asked], next]) {
    const response = await fetch(address.replace('/v1', '/loop-reordered/v1/messages'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', stream: true, tools: [{ name: 'list_files' }], messages }),
    })
    const deltas = [...(await response.text()).matchAll(/"partial_json":("(?:[^"\\]|\\.)*")/g)]
    said.push(deltas.map(([, text]) => JSON.parse(text)).join(''))
  }
  assert.notEqual(said[0], said[1])
  assert.deepEqual(JSON.parse(said[0]), JSON.parse(said[1]))
  // The same words to another behaviour are another conversation.
  const status = async (name) => {
    const response = await fetch(address.replace('/v1', `/${name}/v1/chat/completions`), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'what?' }] }),
    })
    await response.text()
    return response.status
  }
  const statuses = []
  for (const name of ['fails-once', 'rate-limited', 'fails-once', 'rate-limited']) {
    statuses.push(await status(name))
  }
  assert.deepEqual(statuses, [500, 429, 200, 200])
  const { data } = await (await fetch(`${address}/models`)).json()
  assert.deepEqual(
    data.map(({ id }) => id),
    ['loop-then-answer'],
  )
  const at = (path, body) =>
    fetch(address.replace('/v1', path), { method: 'POST', body: JSON.stringify(body) })
  const hi = [{ role: 'user', content: 'hi' }]
  const whole = await (await at('/v1/chat/completions', { messages: hi })).json()
  assert.match(whole.choices[0].message.content, /^Hello!/)
  for (const path of ['/api/chat', '/answer/api/chat']) {
    const { message } = await (await at(path, { stream: false, messages: hi })).json()
    assert.match(message.content, /^Hello!/)
  }
  // Halves of characters, of the client's own and where a long text is cut.
  for (const content of ['\ud800', `😀${'x'.repeat(299)}`]) {
    const messages = [{ role: 'user', content }]
    assert.equal((await at('/v1/chat/completions', { messages })).status, 200)
  }
  const { output } = await (await at('/v1/responses', { model: 'm', input: 'hi' })).json()
  assert.match(output[0].content[0].text, /^Hello!/)
  for (const [status, path, body] of [
    [400, '/v1/chat/completions', { messages: 'x' }],
    [400, '/v1/responses', { input: [null] }],
    [404, '/nope/v1/chat/completions', { messages: hi }],
    [404, '/elsewhere', {}],
    [413, '/v1/chat/completions', { messages: hi, user: 'x'.repeat(8 * 2 ** 20) }],
  ]) {
    const response = await at(path, body)
    assert.equal(response.status, status, path)
    assert.ok((await response.json()).error.message, path)
  }
  assert.equal((await fetch(address.replace('/v1', '/nope/v1/models'))).status, 404)
  assert.match(turnlock('serve', '--list').stdout, /^loop: The looping model/m)
  assert.equal(turnlock('serve', '--behaviour', 'no').status, 2)
})
