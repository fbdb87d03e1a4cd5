// The handler of passes and bundles, as docs/serve.md has it.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import * as turnlock from 'turnlock'
import * as evidence from 'turnlock/evidence'
import * as planning from 'turnlock/planning'
import * as server from 'turnlock/server'
import { scriptedModel } from 'turnlock/testing'
import { readEvents } from '../../tests/server/client.mjs'

const guide = readFileSync(new URL('../../docs/serve.md', import.meta.url), 'utf8')
const [, section] = guide.split('## Passes, bundles and chains over HTTP\n')
const [, code] = /```ts\n([^]*?)```/.exec(section)
const HEADERS = { 'content-type': 'application/json' }
const ENTRIES = {
  turnlock,
  'turnlock/evidence': evidence,
  'turnlock/planning': planning,
  'turnlock/server': server,
}

/** Runs the code with these values for what it imports and for what stands for the host's own. */
function made(own) {
  const values = { ...own }
  const body = code.replace(/^import \{ (.*) \} from '(.*)'\n/gm, (_, names, from) => {
    for (const name of names.split(', ')) {
      values[name] = ENTRIES[from][name]
      assert.ok(values[name], name)
    }
    return ''
  })
  return new Function(...Object.keys(values), `${body}\nreturn handler`)(...Object.values(values))
}

test('the handler of passes and bundles', async () => {
  const request = { tool_name: 'quote', params: {}, reason: 'the price' }
  const model = scriptedModel([JSON.stringify({ tool_calls: [request] }), '{"size":1}'])
  const quote = turnlock.defineTool({
    description: 'A price.',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute: () => 42,
  })
  const handler = made({
    model,
    tools: { quote },
    store: turnlock.memoryStore(),
    authorize: () => ({ tenant: 'ann' }),
    assessmentFor: async (tenant, text) => async () => ({ data: { label: `${tenant}: ${text}` } }),
  })
  const ask = (path, body) => {
    const init = body && { method: 'POST', headers: HEADERS, body: JSON.stringify(body) }
    return handler(new Request(`http://app.example/api/chat${path}`, init))
  }
  const { events } = await readEvents(await ask('/passes/plan', { symbol: 'BTC-USD' }))
  const { type, plan, planId } = events.at(-1)
  assert.deepEqual([type, plan], ['complete', { size: 1 }])
  assert.match(JSON.stringify(model.requests[0]), /BTC-USD/)
  const list = (await (await ask(`/agents/events?plan_id=${planId}`)).json()).events
  assert.equal(planning.auditToolUse(list, planId).calls[0].status, 'ok')
  assert.equal((await ask('/bundles/triage', {})).status, 422)
  const bundle = (await readEvents(await ask('/bundles/triage', { text: 'hi' }))).events
  assert.deepEqual(bundle.at(-1).bundle.summary.consensus, { '/label': 'ann: hi' })
})
