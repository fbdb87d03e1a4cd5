// What is shown where one match lies in another, where a text goes on behind a pause, and at the edges
// of words and addresses.
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { createRedactor } from 'turnlock/redact'
import { KINDS, Scanner } from '../dist/redactor/scanner.js'

/** No text of the repository looks like a key. */
const letters = 'aB3dE5gH7jK9mN2pQ4sT6vW8xYz1Cf0L'
const random = (size, at = 0) =>
  Array.from(
    { length: size },
    (_, n) => letters[(n * n * 3 + n * 7 + at * 3 + (n >> 3)) % 32],
  ).join('')
const GITHUB = `ghp_${random(36)}`
const NAME = 'smith.secret-name'
const LONG = `hunter2 mail bob@example.com ${GITHUB} end`
/** A key that is registered, too. */
const OWN = `ghp_${random(36, 5)}`
const registered = createRedactor({ values: [NAME, LONG, OWN] })

const without = createRedactor()

/** What is shown of a text, whole and in each of its characters. */
function shown(text, redactor = registered) {
  const whole = redactor.redact(text)
  const parts = text.split('').map((unit) => redactor.feed(unit))
  assert.equal(parts.join('') + redactor.end(), whole, text)
  return whole
}
const checked = (cases) => {
  for (const [text, expected] of Object.entries(cases)) {
    assert.equal(shown(text), expected, text)
    // Without values, nothing waits for an escape of one.
    if (!expected.includes(':value]')) assert.equal(shown(text, without), expected, text)
  }
}

test('matches in one another: the first one; of two that begin together, the one that is known first', () => {
  checked({
    // The value is known before the address is.
    [`joe${NAME}@example.com x`]: '[redacted:email] x',
    [`${NAME}@example.com x`]: '[redacted:value] x',
    [`joe ${NAME}@example.com x`]: 'joe [redacted:value] x',
    // An address and a key in a value: nothing of it is shown before it is known.
    [LONG]: '[redacted:value]',
    [`${LONG.slice(0, -1)}ough`]: 'hunter2 mail [redacted:email] [redacted:secret] enough',
    [`password=${GITHUB} x`]: 'password=[redacted:secret] x',
    [`password=${OWN} x`]: 'password=[redacted:secret] x',
    // A key that is registered is a key: by its beginning it is known first.
    [`${OWN} x`]: '[redacted:secret] x',
  })
})

test('a private key ends where its last line does, or with what cannot stand in one', () => {
  const key = (end) => `-----BEGIN RSA ${'PRIVATE'} KEY-----\n${random(64)}\n${end}`
  checked({
    [key(`-----END RSA ${'PRIVATE'} KEY-----hello`)]: '[redacted:secret]hello',
    [key('-----END RSA PRI;VATE KEY-----hello')]: '[redacted:secret];VATE KEY-----hello',
    [key('abc;hello')]: '[redacted:secret];hello',
  })
})

test('an address is one with `%40` too, and none that only looks like it', () => {
  checked({
    'a%40b.example.com': '[redacted:email]',
    'a%41b.example.com': 'a%41b.example.com',
    'a%50b.example.com': 'a%50b.example.com',
    'a%4': 'a%4',
    'a140b.example.com': 'a140b.example.com',
    'legit@example.com': '[redacted:email]',
    'git@example.com:x/y': 'git@example.com:x/y',
    'joe@2x.example.com': '[redacted:email]',
    'logo@2x.png, joe@example.com': 'logo@2x.png, [redacted:email]',
    // What stands before an `@` of an address is a password; of one before it is not.
    'https://joe:p@ss@host.example/x': 'https://joe:[redacted:secret]@host.example/x',
    'see http://h:80 and mail joe@example.com': 'see http://h:80 and mail [redacted:email]',
  })
})

test('a number within a longer one, or in a word, is no card', () => {
  for (const text of ['94111111111111111', 'x4111111111111111', '4111111111111111x'])
    assert.equal(shown(text), text)
})

test('the name of a service is a word of its own, or a part of a name', () => {
  const masked = (name) => shown(`${name}: "${random(32)}"`) === `${name}: "[redacted:secret]"`
  for (const name of ['okta', 'Okta', 'myOkta', 'MY_OKTA', 'oktaX', 'sentry', 'my-sentry'])
    assert.ok(masked(name), name)
  for (const name of ['xokta', 'oktas', 'brOktab', 'myOktab', 'xsentry', 'sentrys'])
    assert.ok(!masked(name), name)
})

test('behind a pause, a text is read as any other', () => {
  const texts = [
    ...['mail ada.lovelace@example.com.', 'card 4111 1111 1111 1111.', '+1 555 123 4567 x'],
    ...['IBAN DE89 3704 0044 0532 0130 00', '192.168.1.17 is it', `key ${GITHUB} x`, `${NAME} x`],
    ...[`password = "${random(24)}"`, `-----BEGIN RSA ${'PRIVATE'} KEY-----\n${random(64)}\n`],
  ]
  const plain = createRedactor()
  for (const text of texts) {
    const scanner = new Scanner({ kinds: new Set(KINDS), mask: (kind) => `[redacted:${kind}]` })
    let all = scanner.feed('Well. ') + scanner.pause()
    for (const unit of text) all += scanner.feed(unit)
    assert.equal(all + scanner.end(), `Well. ${plain.redact(text)}`, text)
  }
})

test('of a value that a pause cuts, far into a text, nothing more is shown', async () => {
  const before = 'There is more to say. '.repeat(400)
  const events = [
    { type: 'text', phase: 'unified', seq: 1, chunk: `${before}${LONG.slice(0, 20)}` },
    { type: 'tool_start', seq: 2, callId: 'c', name: 't', args: {} },
    { type: 'text', phase: 'unified', seq: 3, chunk: LONG.slice(20) },
  ]
  let said = ''
  for await (const event of registered.events(events.values())) said += event.chunk ?? ''
  assert.ok(said.startsWith(`${before}[redacted:value]`), said.slice(before.length))
  for (const piece of ['hunter2', 'bob@', GITHUB.slice(0, 12)]) assert.ok(!said.includes(piece))
})

test('a field is hidden behind any number of pauses in a text before it that looks like JSON', async () => {
  const redactor = createRedactor({ fields: ['/ssn'] })
  // What ends with a letter is held back; the text is read as cut there.
  const pieces = [
    'and {',
    'and {x',
    '{',
    '{x',
    '{"a":"b',
    '[{"a":',
    '[{"a":b',
    '[t',
    '[[1, 2',
    ' {"a":1,',
    'x {"a": {c',
    '[',
  ]
  for (const piece of pieces.map((piece) => JSON.stringify(piece).slice(1, -1))) {
    for (const pauses of [1, 2, 3, 5, 20]) {
      const before = `{"note":"${piece.repeat(pauses)}",`
      const chunks = ['{"note":"', ...Array(pauses).fill(piece), '","ssn":"123-45","then":1}']
      const said = await divided(redactor, chunks)
      assert.equal(said, `${before}"ssn":"[redacted:field]","then":1}`, `${piece} ${pauses}`)
    }
  }
})

/** What a text may hold that begins like JSON, or ends it. */
const words = fc
  .array(fc.constantFrom('x', 't', 'hello', '{', '[', '{"a', '[t', '\\', ']', '}', '```', ' '), {
    maxLength: 6,
  })
  .map((all) => all.join(''))
/** Values with fields to hide among them, all of one digit that stands nowhere else. */
const hidden = fc.constantFrom(777_777, '777777', { in: '777777', and: [777_777] })
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.oneof(words, fc.constantFrom(1, true, null)),
    fc.array(tie('value'), { maxLength: 3 }),
    fc
      .tuple(fc.dictionary(words, tie('value'), { maxKeys: 3 }), hidden)
      .map(([rest, deep]) => ({ ...rest, deep })),
  ),
}))
const documents = fc.record({
  before: value,
  ssn: hidden,
  list: fc.array(fc.record({ before: value, ssn: hidden })),
})

/** What readers of events are shown of a text whose parts other events divide. */
async function divided(redactor, chunks) {
  const events = chunks.flatMap((chunk, at) => [
    { type: 'text', phase: 'unified', seq: 2 * at + 1, chunk },
    { type: 'tool_start', seq: 2 * at + 2, callId: `c${at}`, name: 't', args: {} },
  ])
  let said = ''
  for await (const event of redactor.events(events.values())) said += event.chunk ?? ''
  return said
}

test('behind an answer that was cut anywhere, another one is read from its beginning', async () => {
  const redactor = createRedactor({ fields: ['/ssn'] })
  const answer = JSON.stringify({ note: 'a {b', list: [1, { a: [] }], ssn: '123-45', then: 'x' })
  for (let at = 0; at <= answer.length; at++) {
    const said = await divided(redactor, [answer.slice(0, at), ' {"a":1,"ssn":"777-77","b":2}'])
    assert.ok(!said.includes('777'), said)
    // It may be the value that was to come.
    const isValue = answer.slice(0, at).endsWith('"ssn":')
    assert.equal(said.includes('"b":2}'), !isValue, said)
  }
})

/** An answer before it, if there is one: how much of it was given. */
const part = fc.double({ min: 0, max: 1, noNaN: true })
const cutOff = fc.option(fc.tuple(documents, part))

test('no field is shown of a text of JSON, wherever other events divide it', () =>
  fc.assert(
    fc.asyncProperty(
      ...[documents, cutOff, fc.constantFrom(undefined, 1)],
      fc.array(fc.tuple(part, fc.boolean()), { maxLength: 14 }),
      async (document, before, space, cuts) => {
        const text = JSON.stringify(document, null, space)
        const brackets = [...text.matchAll(/[{[]/g)].map(({ index }) => index)
        const at = cuts.map(([part, any]) =>
          any ? Math.floor(part * text.length) : brackets[Math.floor(part * (brackets.length - 1))],
        )
        const places = [0, ...at.sort((a, b) => a - b), text.length]
        const chunks = places.slice(1).map((to, index) => text.slice(places[index], to))
        const first = before ? JSON.stringify(before[0]) : 'Here: '
        const given = first.slice(0, before ? Math.floor(before[1] * first.length) : undefined)
        const redactor = createRedactor({ fields: ['/ssn', 'list.*.ssn', '**.deep'] })
        const said = await divided(redactor, [given, ...chunks])
        assert.ok(!said.includes('777'), said)
      },
    ),
    { numRuns: 3000 },
  ))
