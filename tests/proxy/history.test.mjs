// Repairs: what the provider refuses is mended, everything else stays as it was, and what was mended
// once is mended the same when the conversation goes on.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createProxy } from 'turnlock/proxy'
import { normalizeHistory } from 'turnlock'
import { data } from '../data.mjs'
import * as anthropic from '../../pkg/dist/testing/provider/wire/anthropic.js'
import * as openaiChat from '../../pkg/dist/testing/provider/wire/openai-chat.js'
import * as openaiResponses from '../../pkg/dist/testing/provider/wire/openai-responses.js'
import { WIRES } from './wires.mjs'

const DIALECTS = { chat: 'openai-chat', messages: 'anthropic', responses: 'openai-responses' }
const VIOLATION = {
  chat: openaiChat.violation,
  messages: anthropic.violation,
  responses: openaiResponses.violation,
}
const member = (wire) => (wire === 'responses' ? 'input' : 'messages')

/** What the provider is sent for a body, and the report. */
async function sent(wire, json, mode = 'repair') {
  const seen = []
  const proxy = createProxy({
    upstream: 'https://provider.example',
    mode,
    authorize: () => ({ tenant: 'me' }),
    onReport: (report) => seen.push(report),
    fetch: async (url, init) => {
      seen.push(Buffer.from(init.body).toString())
      return new Response('{}')
    },
  })
  const url = `https://edge.example${WIRES[wire].path}`
  const response = await proxy(new Request(url, { method: 'POST', body: json }))
  await response.text()
  return {
    json: seen[0],
    report: seen[1],
    header: JSON.parse(response.headers.get('x-turnlock-report')),
  }
}

const call = (wire, id, name = 'ls', args = { path: '.' }) =>
  ({
    chat: {
      role: 'assistant',
      content: null,
      reasoning_content: 'own',
      tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }],
    },
    messages: {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
        { type: 'tool_use', id, name, input: args, cache_control: { type: 'ephemeral' } },
      ],
    },
    responses: { type: 'function_call', call_id: id, name, arguments: JSON.stringify(args) },
  })[wire]
const result = (wire, id, text = 'notes.txt') =>
  ({
    chat: { role: 'tool', tool_call_id: id, content: text },
    messages: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: text }] },
    responses: { type: 'function_call_output', call_id: id, output: text },
  })[wire]
const user = (text) => ({ role: 'user', content: text, own: 'x' })

/** Broken histories, and the codes of what is mended. */
const BROKEN = {
  'an orphan': (wire) => [[user('a'), result(wire, 'gone'), user('b')], ['TOOL_RESULT_ORPHAN']],
  'an unanswered call': (wire) => [
    [user('a'), call(wire, 'c1'), user('b')],
    ['TOOL_CALL_UNANSWERED'],
  ],
  'both, between whole ones': (wire) => [
    [
      user('a'),
      call(wire, 'c0'),
      result(wire, 'c0'),
      user('b'),
      call(wire, 'c1'),
      user('c'),
      result(wire, 'c9'),
      user('d'),
      call(wire, 'c2'),
      result(wire, 'c2'),
    ],
    ['TOOL_CALL_UNANSWERED', 'TOOL_RESULT_ORPHAN'],
  ],
}

for (const wire of Object.keys(WIRES)) {
  for (const [title, make] of Object.entries(BROKEN)) {
    test(`${wire}: ${title} is mended, every other byte stays`, async () => {
      const [history, codes] = make(wire)
      const text = (element) => JSON.stringify(element).replaceAll('":', '" : ')
      const body = (list) =>
        `{ "model":"m", "temperature": 1.0,"${member(wire)}":[ ${list.map(text).join(' , ')} ],"tools":[] }`
      assert.ok(VIOLATION[wire](JSON.parse(body(history))), 'the provider refuses it')
      const { json, report, header } = await sent(wire, body(history))
      assert.equal(VIOLATION[wire](JSON.parse(json)), undefined)
      assert.deepEqual([...new Set(report.repairs.map(({ code }) => code))].sort(), codes)
      assert.deepEqual(
        header.repairs.map(({ code }) => code),
        report.repairs.map(({ code }) => code),
      )
      assert.equal(header.applied, true)
      // Elements that no repair is about are there as they were written.
      const changed = new Set(report.repairs.map(({ index }) => index))
      const stay = history.filter((_, at) => !changed.has(at) && !changed.has(at - 1))
      for (const element of stay) assert.ok(json.includes(text(element)), text(element))
      assert.ok(json.startsWith(`{ "model":"m", "temperature": 1.0,"${member(wire)}":[`))
      assert.ok(json.endsWith(`],"tools":[] }`))
      // Reasoning and its signatures stay; so does what is not about calls.
      const kept = { chat: '"own"', messages: '"c2ln"', responses: '"call_id"' }[wire]
      if (title !== 'an orphan') assert.ok(json.includes(kept))
      // The same again, and `observe` reports it and changes nothing.
      assert.equal((await sent(wire, body(history))).json, json)
      const watched = await sent(wire, body(history), 'observe')
      assert.equal(watched.json, body(history))
      assert.deepEqual(watched.report.repairs, report.repairs)
      assert.equal(watched.header.applied, false)
      // The conversation goes on: what was sent before is a prefix of what is sent then.
      let [before, longer] = [json, history]
      for (const more of [
        [{ role: 'assistant', content: 'Well.' }, user('e')],
        [call(wire, 'c5'), result(wire, 'c5')],
      ]) {
        longer = [...longer, ...more]
        const { json: next } = await sent(wire, body(longer))
        const end = /\s*\],"tools":\[\] \}$/
        assert.ok(next.startsWith(before.replace(end, '')), next)
        before = next
      }
    })
  }

  test(`${wire}: broken histories of others are accepted, or passed as they were`, async () => {
    const { cases } = JSON.parse(readFileSync(data('nasty-histories/nasty-histories.json')))
    let mended = 0
    for (const { id, shape, input } of cases) {
      const own = { openai: 'chat', anthropic: 'messages', responses: 'responses' }[shape]
      if (own !== wire) continue
      const body = JSON.stringify({ model: 'm', [member(wire)]: input })
      const before = VIOLATION[wire](JSON.parse(body))
      const { json, report } = await sent(wire, body)
      if (!report.repairs.length) assert.equal(json, body, id)
      else mended += 1
      const after = VIOLATION[wire](JSON.parse(json))
      if (!before) assert.equal(after, undefined, id)
      if (/tool|call/i.test(before ?? '')) assert.equal(after, undefined, `${id}: ${after}`)
    }
    if (wire === 'chat') assert.ok(mended > 3, `${mended}`)
  })

  test(`${wire}: real conversations, and their beginnings, pass as they are`, async () => {
    const lines = readFileSync(data('trajectories-tau-bench/gpt-4o-airline.61.jsonl'), 'utf8')
    for (const line of lines.trim().split('\n').slice(0, 12)) {
      const { messages } = JSON.parse(line)
      const history = normalizeHistory(messages, { dialect: DIALECTS[wire] }).messages
      const body = JSON.stringify({ model: 'm', [member(wire)]: history })
      const { json, report } = await sent(wire, body)
      assert.equal(json, body)
      assert.deepEqual([report.repairs, report.error], [[], undefined])
    }
  })
}

test('responses: what the provider keeps is not mended here', async () => {
  for (const own of [{ previous_response_id: 'resp_1' }, { conversation: 'c' }]) {
    const body = JSON.stringify({ model: 'm', ...own, input: [result('responses', 'c1')] })
    const { json, report } = await sent('responses', body)
    assert.equal(json, body)
    assert.deepEqual(report.repairs, [])
  }
})
