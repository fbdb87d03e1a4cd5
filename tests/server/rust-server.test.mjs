// `examples/rust-server` as a real process against the scripted provider.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { cargoEnv, root } from '../../scripts/setup.mjs'
import { until } from '../patience.mjs'
import { createProvider } from '../provider/server.mjs'
import { fresh, readEvents } from './client.mjs'

const GO = { messages: [{ role: 'user', content: 'go' }] }

let binary, provider
const servers = []
before(async () => {
  binary = build()
  provider = await createProvider()
})
after(async () => {
  for (const server of servers) server.kill('SIGKILL')
  await provider.close()
})

function build() {
  const options = { cwd: join(root, 'examples/rust-server'), encoding: 'utf8' }
  const out = execFileSync('cargo', ['build', '--locked', '--message-format=json'], {
    ...options,
    env: cargoEnv,
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 28,
  })
  const built = out.split('\n').filter(Boolean).map(JSON.parse)
  return built.find((line) => line.executable).executable
}

/** A server whose model follows this script. */
async function serve(session, script) {
  const env = {
    LISTEN: '127.0.0.1:0',
    OPENAI_API_KEY: 'sk-x',
    BASE_URL: `${provider.url}/s/${session}/${script}/v1`,
  }
  const server = spawn(binary, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  servers.push(server)
  for await (const line of createInterface({ input: server.stdout })) return line
  throw new Error('the server did not start')
}

const post = (origin, body, own) =>
  fetch(`${origin}/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...own,
  })

test('a turn with a tool, as an event stream', async () => {
  const session = fresh('server')
  const response = await post(await serve(session, 'one-call'), GO)
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  const { events, ids } = await readEvents(response)
  assert.equal(events.at(-1).type, 'complete')
  assert.match(events.at(-1).fullContent, /notes\.txt.*That answers it\./)
  assert.deepEqual(
    ids,
    events.map((_, at) => String(at + 1)),
  )
  const results = events.flatMap((event) => event.toolResults ?? [])
  assert.deepEqual(
    results.map(({ name, status, result }) => [name, status, result]),
    [['list_files', 'ok', ['notes.txt', 'readme.md', 'log/today.txt']]],
  )
  assert.ok(events.every((event) => event.requestId === response.headers.get('x-request-id')))
  assert.equal(provider.requests(session).length, 2)
})

test('misuse is refused before a turn, and what fails later is an event', async () => {
  const session = fresh('server')
  const origin = await serve(session, 'cut-arguments')
  const refused = await post(origin, { messages: [{ shape: 'none' }] })
  assert.deepEqual(
    [refused.status, (await refused.json()).error.code],
    [400, 'message.unknown_shape'],
  )
  assert.equal((await post(origin, {})).status, 422)
  assert.equal(provider.requests(session).length, 0)
  const [last] = (await readEvents(await post(origin, GO))).events.slice(-1)
  assert.deepEqual([last.type, last.code], ['error', 'model.truncated'])
})

test('a client that leaves ends the turn: the connection to the model closes', async () => {
  const session = fresh('server')
  const origin = await serve(session, 'stall')
  for (const turn of [0, 1, 2]) {
    const left = new AbortController()
    const { body } = await post(origin, GO, { signal: left.signal })
    const reader = body.pipeThrough(new TextDecoderStream()).getReader()
    let read = ''
    while (!read.includes('"chunk"')) read += (await reader.read()).value
    assert.equal(provider.requests(session)[turn].closedEarly, false)
    left.abort()
    reader.cancel().catch(() => {})
    await until(() => provider.requests(session)[turn].closedEarly)
  }
})

test('many requests at once', async () => {
  const origin = await serve(fresh('server'), 'unhurried')
  const all = await Promise.all(Array.from({ length: 8 }, () => post(origin, GO)))
  const read = await Promise.all(all.map((response) => readEvents(response)))
  for (const { events } of read) assert.equal(events.at(-1).type, 'complete')
  assert.equal(new Set(read.map(({ events }) => events[0].requestId)).size, 8)
})
