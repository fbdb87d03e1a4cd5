// The command that records providers, run against the scripted provider over HTTP.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { decodeStream } from 'turnlock'
import { createProvider } from '../provider/server.mjs'
import { CONVERSATIONS } from './conversations.mjs'

const script = fileURLToPath(new URL('./command.mjs', import.meta.url))
const KEY = 'sk-ant-api03-aVerySecretKey0123456789'

/** Runs the command; its exit code and output. */
async function record(args, env) {
  const child = spawn(process.execPath, [script, ...args], { env: { ...process.env, ...env } })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  const code = await new Promise((resolve) => child.on('close', resolve))
  return { code, output }
}

test('the set: 25 conversations with names of their own', () => {
  assert.equal(new Set(CONVERSATIONS.map(({ name }) => name)).size, 25)
})

for (const dialect of ['anthropic', 'openai-chat', 'bedrock']) {
  test(`record ${dialect}: stores each conversation, and its bytes decode to the text`, async () => {
    const provider = await createProvider()
    const folder = mkdtempSync(join(tmpdir(), 'turnlock-record-'))
    try {
      const baseURL = `${provider.url}/s/record/one-call/v1`
      const { code, output } = await record(
        ['--provider', dialect, '--model', 'scripted', '--base-url', baseURL, '--to', folder],
        { TURNLOCK_KEY: KEY },
      )
      assert.equal(code, 0, output)
      // The scripted model does not write JSON: what fails is recorded, too.
      assert.match(output, /25 recorded, 2 ended with an error/)
      assert.equal(readdirSync(folder).length, 25)
      for (const file of readdirSync(folder)) {
        const json = readFileSync(join(folder, file), 'utf8')
        assert.ok(!json.includes(KEY), `${file} has the key`)
        const { exchanges, text, error } = JSON.parse(json)
        const expected = file.startsWith('answer-schema') ? 'answer.invalid' : undefined
        assert.equal(error?.code, expected, file)
        const { body, b64, request } = exchanges.at(-1)
        assert.ok(request.messages.length > 0, file)
        const decoder = decodeStream(dialect)
        const bytes = b64 ? Buffer.from(b64, 'base64') : new TextEncoder().encode(body)
        const deltas = [...decoder.feed(bytes), ...decoder.end()]
        const decoded = deltas.map((delta) => (delta.type === 'text' ? delta.text : '')).join('')
        assert.ok(decoded.length > 0, file)
        if (!error) assert.ok(text.endsWith(decoded), `${file}: ${decoded}`)
      }
    } finally {
      rmSync(folder, { recursive: true })
      await provider.close()
    }
  })
}

test('record: names the variable of a missing key, and the providers', async () => {
  const without = { TURNLOCK_KEY: '', ANTHROPIC_API_KEY: '' }
  const noKey = await record(['--provider', 'anthropic', '--model', 'm'], without)
  assert.equal(noKey.code, 1)
  assert.match(noKey.output, /set ANTHROPIC_API_KEY or TURNLOCK_KEY/)
  const unknown = await record(['--provider', 'nobody', '--model', 'm'], without)
  assert.match(unknown.output, /--provider must be one of .*anthropic/)
})
