// `examples/blocking.rs` as a real process against the scripted provider: the turn as a Rust server
// drives it, without an async runtime.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import test, { after, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createProvider } from '../provider/server.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '../..')
const NOTES = 'The engine is next.'

let binary, provider, folder
before(async () => {
  binary = build()
  provider = await createProvider()
  folder = mkdtempSync(join(tmpdir(), 'turnlock-example-'))
  writeFileSync(join(folder, 'notes.txt'), NOTES)
})
after(async () => {
  await provider.close()
  rmSync(folder, { recursive: true })
})

/** With the profile of `cargo test`, so that nothing is built twice. */
function build() {
  const args = ['build', '--locked', '--profile', 'test', '--example', 'blocking']
  const options = { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }
  const lines = execFileSync('cargo', [...args, '--message-format=json'], options).split('\n')
  const built = lines.filter(Boolean).map((line) => JSON.parse(line))
  return built.find(({ target, executable }) => target?.name === 'blocking' && executable)
    .executable
}

let sessions = 0
function start(script, { cwd = folder } = {}) {
  const session = `example${sessions++}`
  const env = {
    ...process.env,
    BASE_URL: `${provider.url}/s/${session}/${encodeURIComponent(script)}/v1`,
    API_KEY: 'sk-secret',
    MODEL: 'scripted',
  }
  const child = spawn(binary, ['What do my "notes" say?\n'], { cwd, env })
  const said = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text) => (said.out += text))
  child.stderr.setEncoding('utf8').on('data', (text) => (said.err += text))
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ ...said, code, signal }))
  })
  return { child, said, ended, requests: () => provider.requests(session) }
}

async function play(script, own) {
  const started = start(script, own)
  const { out, err, code } = await started.ended
  const runs = err.split('\n').filter((line) => line.startsWith('read_file '))
  const failure = err.split('\n').find((line) => line.startsWith('{'))
  return { out, code, runs, failure: failure && JSON.parse(failure), requests: started.requests() }
}

/** The payloads of the TOOL RESULT boxes of a request. */
function boxes({ body }) {
  const texts = body.messages.map(({ content }) => content)
  const box = /^TOOL RESULT (\w+)\n(.*)\nEND TOOL RESULT \1$/
  return texts.flatMap((text) => box.exec(text)?.[2] ?? []).map((text) => JSON.parse(text))
}

test('the tool runs once, and the answer is made from its result', async () => {
  const { out, code, runs, requests } = await play('read-then-note')
  assert.equal(code, 0)
  assert.deepEqual(runs, ['read_file {"path":"notes.txt"}'])
  const quoted = JSON.stringify(NOTES)
  assert.equal(out, `From the tool results I can say: ${quoted}. That answers it.\n`)
  assert.equal(requests.length, 2)
  const [asked, answered] = requests.map(({ body }) => body)
  assert.deepEqual([asked.model, asked.stream], ['scripted', true])
  assert.equal(asked.messages.at(-1).content, 'What do my "notes" say?\n')
  assert.deepEqual(boxes(requests[1]), [
    { tool: 'read_file', args: { path: 'notes.txt' }, status: 'ok', result: NOTES },
  ])
  assert.ok(!answered.tools || answered.tool_choice === 'none', 'the action phase has no tools')
})

test('a tool that fails is a result like any other', async () => {
  const { out, code, runs, requests } = await play('read-then-note', { cwd: root })
  assert.equal(code, 0)
  assert.equal(runs.length, 1)
  const [{ status, error }] = boxes(requests[1])
  assert.equal(status, 'error')
  assert.match(error, /No such file/)
  assert.match(out, /No such file/)
})

test('a request that failed is repeated, and nothing else is', async () => {
  const failed = await play('fails-once')
  assert.equal(failed.code, 0)
  assert.equal(failed.requests.length, 3)
  assert.deepEqual(failed.requests[0].body, failed.requests[1].body)
  assert.equal(failed.runs.length, 1)
  assert.match(failed.out, /^From the tool results I can say: "The engine is next\."/)

  const busy = await play('rate-limited')
  assert.equal(busy.out, 'Here I am. \n')
  assert.equal(busy.requests.length, 2)
})

test('a provider that refuses ends the turn with its code', async () => {
  const { out, code, runs, failure, requests } = await play('always-401')
  assert.equal(code, 1)
  assert.deepEqual(failure, {
    code: 'model.status',
    message: 'the model answered 401: no such key',
    details: { status: 401 },
  })
  assert.deepEqual([out, runs.length, requests.length], ['\n', 0, 1])
})

test('a connection that breaks is a fact, and runs no half of a call', async () => {
  const { out, code, runs, failure } = await play('cut-arguments')
  assert.equal(code, 1)
  assert.equal(failure.code, 'model.truncated')
  assert.deepEqual([out, runs.length], ['Let me see. \n', 0])
})

test('bytes may come one by one', async () => {
  const { out, code } = await play('slow')
  assert.deepEqual([out, code], ['Slow but steady wins the race. \n', 0])
})

test('text is printed as it comes, while the response is still open', async (t) => {
  const { child, said, ended } = start('stall')
  t.after(() => child.kill('SIGKILL'))
  await new Promise((resolve) => {
    child.stdout.on('data', () => said.out === 'This is the beginning of ' && resolve())
    child.on('close', resolve)
  })
  assert.equal(child.exitCode, null, `the process has ended: ${said.err}`)
  child.kill()
  assert.equal((await ended).signal, 'SIGTERM')
})
