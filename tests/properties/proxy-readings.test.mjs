// In `bound`, no client runs a call that may not run: not one that reads names in any case, goes by the
// event line, or repairs arguments.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createProxy } from 'turnlock/proxy'
import { callsOf, LENIENT, valueOf } from '../proxy/lenient-readers.mjs'
import { WIRES } from '../proxy/wires.mjs'
import { holds } from './hold.mjs'

const REPEATED = { n: 1 }
const HISTORY = [1, 2].map(() => ['ls', REPEATED, 'same'])

/** The response of `bound`, for a provider that answers with `answer`, and then with nothing. */
async function bounded(wire, answer, stream) {
  let requests = 0
  const proxy = createProxy({
    upstream: 'https://provider.example',
    authorize: () => ({ tenant: 'me' }),
    mode: 'bound',
    fetch: async () => new Response(requests++ ? '' : answer),
  })
  const body = JSON.stringify(WIRES[wire].body(HISTORY, { stream }))
  const url = `https://edge.example${WIRES[wire].path}`
  return (await proxy(new Request(url, { method: 'POST', body }))).text()
}

const isRepeated = ({ name, args }) =>
  name === 'ls' && JSON.stringify(valueOf(args)) === JSON.stringify(REPEATED)

// Names that each mean something on some wire, with a letter of another case.
const spell = (name, how) => {
  const [first, ...rest] = name
  if (how === 'capital') return first.toUpperCase() + rest.join('')
  if (how === 'long s' && name.includes('s')) return name.replace('s', 'ſ')
  if (how === 'escaped' && name.includes('s')) return name.replace('s', '\\u017f')
  return name.toUpperCase()
}
const spellings = fc.constantFrom('capital', 'capitals', 'long s', 'escaped')

/** Changes the text of one JSON object that a provider sends. */
const changes = fc.oneof(
  // A name is spelled in another case, or stands twice, with the value of the other call.
  fc.record({
    kind: fc.constantFrom('renamed', 'added before', 'added behind'),
    at: fc.nat(30),
    spelling: spellings,
  }),
  fc.record({
    kind: fc.constant('event'),
    name: fc.constantFrom('same', 'none', 'message', 'other'),
    type: fc.constantFrom('same', 'none', 'x'),
  }),
)
const plan = fc.record({
  wire: fc.constantFrom(...Object.keys(WIRES)),
  stream: fc.boolean(),
  isRepeated: fc.boolean(),
  form: fc.constantFrom('plain', 'cut', 'comma', 'fence', 'string', 'twice', 'prose'),
  changes: fc.array(fc.tuple(fc.nat(12), changes), { maxLength: 3 }),
})

const FORMS = {
  plain: (json) => json,
  cut: (json) => json.slice(0, -1),
  comma: (json) => json.replace('}', ', }'),
  fence: (json) => `\`\`\`json\n${json}\n\`\`\``,
  string: (json) => JSON.stringify(json),
  twice: (json) => `${json}{"m":7}`,
  prose: (json) => `${json} That is all.`,
}
const MARK = 'ARGUMENTS'
/** The same JSON with the arguments of the other call. */
const swapped = (json) => json.replace(/(\\?"n\\?":)([12])/g, (_, name, n) => name + (3 - n))

/** A JSON text with a member changed. */
function changed(json, { kind, at, spelling }) {
  const names = [...json.matchAll(/"(\w+)":/g)].filter(([, name]) => name.length > 1)
  const found = names[at % names.length]
  if (!found) return json
  const [text, name] = found
  const other = `"${spell(name, spelling)}":`
  const [before, after] = [json.slice(0, found.index), json.slice(found.index + text.length)]
  if (kind === 'renamed') return before + other + after
  const value = valueText(after)
  const [one, two] = [`${text}${value}`, `${other}${swapped(value)}`]
  const both = kind === 'added before' ? `${two},${one}` : `${one},${two}`
  return before + both + after.slice(value.length)
}

/** The text of the value that a text begins with. */
function valueText(text) {
  for (let end = 1; end <= text.length; end++) {
    if (!/^([,}\]]|$)/.test(text.slice(end))) continue
    try {
      JSON.parse(text.slice(0, end))
      return text.slice(0, end)
    } catch {
      // Longer.
    }
  }
  return ''
}

function changedFrame(frame, change) {
  const [, event, json] = /^(?:event: (.*)\n)?data: (\{.*\})\n\n$/.exec(frame) ?? []
  if (json === undefined) return frame
  const line = (name) => (name === undefined ? '' : `event: ${name}\n`)
  if (change.kind !== 'event') return `${line(event)}data: ${changed(json, change)}\n\n`
  const name = { same: event, none: undefined, message: 'message', other: 'ping' }[change.name]
  const { type: _, ...rest } = JSON.parse(json)
  const typed = { same: JSON.parse(json), none: rest, x: { type: 'x', ...rest } }[change.type]
  return `${line(name)}data: ${JSON.stringify(typed)}\n\n`
}

test('bound: no lenient client reads a call that may not run, however the response is spelled', async () => {
  const property = fc.asyncProperty(plan, async ({ wire, stream, form, ...own }) => {
    const args = FORMS[form](JSON.stringify({ n: own.isRepeated ? 1 : 2 }))
    const call = { id: 'call_1', name: 'ls', args: MARK }
    const isValue = wire === 'messages' && !stream
    const filled = (text) =>
      text
        .replaceAll(`\\"${MARK}\\"`, () => JSON.stringify(args).slice(1, -1))
        .replaceAll(`"${MARK}"`, () =>
          isValue ? JSON.stringify({ n: own.isRepeated ? 1 : 2 }) : args,
        )
    let answer
    if (stream) {
      const frames = WIRES[wire].stream({ calls: [call] }, { n: 1, body: {} }).map(filled)
      for (const [at, change] of own.changes) {
        frames[at % frames.length] = changedFrame(frames[at % frames.length], change)
      }
      answer = frames.join('')
    } else {
      answer = filled(JSON.stringify(WIRES[wire].whole({ calls: [call] })))
      for (const [, change] of own.changes) {
        if (change.kind !== 'event') answer = changed(answer, change)
      }
    }
    const text = await bounded(wire, answer, stream)
    for (const client of LENIENT) {
      const calls = callsOf(wire, text, client).filter(isRepeated)
      assert.deepEqual(calls, [], `${JSON.stringify(client)}\n${answer}\n->\n${text}`)
    }
    // Without a change, what may run runs.
    if (form === 'plain' && own.changes.length === 0 && !own.isRepeated) assert.equal(text, answer)
  })
  await holds('lenient clients', property, 1500)
})
