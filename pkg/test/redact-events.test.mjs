// What readers of events are shown: blocks of providers, texts that other events divide, texts that
// the core has cut, and JSON that is a text.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createRedactor } from 'turnlock/redact'
import { MAIL, redact, SECRETS, VALUE } from './secrets.mjs'

/** What a redactor shows of events. */
async function shown(redactor, events) {
  const all = []
  for await (const event of redactor.events(events.values())) all.push(event)
  return all
}

test('the block of a provider is its text: no member of it is ours, at any depth', async () => {
  const names = ['code', 'id', 'status', 'model', 'type', 'usage', 'signature', 'phase']
  const members = Object.fromEntries(names.map((name, at) => [name, at % 2 ? MAIL : VALUE]))
  const block = { ...members, [MAIL]: 1, input: { ...members, password: 'abc' }, list: [members] }
  const event = { type: 'provider_tool', name: 'code', id: 'ci_1', status: 'done', seq: 1, block }
  const [one] = await shown(redact, [event])
  const text = JSON.stringify(one)
  for (const secret of SECRETS) assert.ok(!text.includes(secret), `${secret} in ${text}`)
  assert.deepEqual([one.id, one.status, one.name, one.seq], ['ci_1', 'done', 'code', 1])
  assert.equal(one.block.input.password, '[redacted:field]')
})
