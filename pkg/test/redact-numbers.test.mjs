// Numbers in a text are redacted by their value, however they are spelled: with a point, with an
// exponent, in JSON at any level, and however a stream is cut.
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { createRedactor } from 'turnlock/redact'
import { holds } from '../../tests/properties/hold.mjs'

const CARD = '4111111111111111'
const streamed = (redactor, text, cut) =>
  redactor.feed(text.slice(0, cut)) + redactor.feed(text.slice(cut)) + redactor.end()

test('spelling of numbers: each form of a card is masked', () => {
  const { redact } = createRedactor()
  const forms = [
    `${CARD}.0`,
    `${CARD}.000`,
    `${CARD}e0`,
    `${CARD}E+0`,
    `${CARD}.00e-0`,
    '4.111111111111111e15',
    '4.1111111111111110E+15',
    '41.11111111111111e014',
    '0.4111111111111111e16',
    '0.00004111111111111111e20',
    '41111111111111110e-1',
    '4111111111111111000.0e-3',
    `${CARD}.${'0'.repeat(400)}`,
  ]
  for (const form of forms) {
    assert.equal(redact(`{"p":${form}}`), '{"p":"[redacted:card]"}', form)
    assert.equal(redact(`[ -${form} ]`), '[ "-[redacted:card]" ]', form)
    assert.equal(redact(`card ${form}, thanks`), 'card [redacted:card], thanks', form)
    assert.equal(redact(form), '[redacted:card]', form)
    const twice = JSON.stringify({ body: `{"p":${form}}` })
    assert.equal(JSON.parse(redact(twice)).body, '{"p":"[redacted:card]"}', form)
    const coded = twice.replace(/e(?=[-+\d])/g, '\\u0065').replaceAll('.', '\\u002e')
    assert.equal(JSON.parse(redact(coded)).body, '{"p":"[redacted:card]"}', coded)
  }
})

test('spelling of numbers: registered values, phones and secrets behind a name', () => {
  const { redact } = createRedactor({ values: ['7734501289', '1234.5678'] })
  const rows = {
    '{"n":7.734501289e9}': '{"n":"[redacted:value]"}',
    '{"n":1.2345678E3}': '{"n":"[redacted:value]"}',
    '{"tel":1.4155552671e10}': '{"tel":"[redacted:phone]"}',
    '{"password":1.234567e6}': '{"password":"[redacted:secret]"}',
    '{"name":"API_KEY","value":1234567.0}': '{"name":"API_KEY","value":"[redacted:secret]"}',
  }
  for (const [text, expected] of Object.entries(rows)) assert.equal(redact(text), expected, text)
})

test('spelling of numbers: other digits with points and letters stay as they are', () => {
  const { redact } = createRedactor()
  const texts = [
    `a${CARD}.0`,
    `${CARD}.0.1`,
    `${CARD}.5`,
    `1e${CARD}`,
    '{"price":1234.50,"n":5.0e3,"m":1e-7,"z":0.0}',
    'it took 1700000000.0 s, 12.50 EUR and 2024-01-31',
    '{"n":4111111111111112.0}',
  ]
  for (const text of texts) assert.equal(redact(text), text)
  // Groups of an address are hexadecimal.
  assert.equal(redact('305:a4aa:6e83:46f1:6b6b:1e06:6bde:59e7'), '[redacted:ip]')
})

test('spelling of numbers: what an event divides is masked as far as it is known', async () => {
  async function* events(parts) {
    for (const chunk of parts) {
      yield { type: 'text', chunk }
      yield { type: 'tool_progress', toolCallId: 'a', data: 'x' }
    }
  }
  for (const parts of [
    ['{"p":4111111111111111', '.0}'],
    ['{"p":4111111111111111.', '0}'],
    ['{"p":4111111111111111e', '0}'],
    ['{"p":', '4111111111111111.0}'],
  ]) {
    let shown = ''
    for await (const event of createRedactor().events(events(parts))) shown += event.chunk ?? ''
    assert.doesNotMatch(shown, /4111/, parts.join('|'))
  }
})

/** Numbers of which many are masked, as JavaScript writes them. */
const plain = fc.oneof(
  fc.constantFrom(CARD, `-${CARD}`, '5500000000000004', '14155552671', '12345678', '1234', '0.5'),
  fc.integer({ min: 1000 }).map(String),
  fc.integer({ min: 1, max: 99_999_999 }).map((n) => String(n / 1000)),
)
/** The same value with its point moved, and zeros at its end. */
function respelled(digits, shift, zeros) {
  const [, sign, whole, fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(digits)
  const all = whole + fraction
  const point = whole.length - shift
  const placed =
    point > 0
      ? `${all.slice(0, point)}.${all.slice(point)}${'0'.repeat(zeros + 1)}`
      : `0.${'0'.repeat(-point)}${all}${'0'.repeat(zeros)}`
  return `${sign}${placed.replace(/^0+(?=\d)/, '')}e${shift}`
}
const name = fc.constantFrom('pan', 'tel', 'password', 'n', 'api_key', 'text')

test('spelling of numbers: JSON is redacted as its numbers in plain digits are', () =>
  holds(
    'numbers by their value',
    fc.property(
      fc.array(fc.tuple(name, plain, fc.nat({ max: 18 }), fc.nat({ max: 3 })), { maxLength: 4 }),
      fc.constantFrom('', ' ', '\n  '),
      fc.nat({ max: 2 }),
      fc.nat(),
      (members, space, levels, at) => {
        const redactor = createRedactor()
        const written = (number) => {
          let text = `{${members.map((m, n) => `${space}"${m[0]}${n}":${space}${number(m)}`).join()}${space}}`
          for (let level = 0; level < levels; level++) text = JSON.stringify({ body: text })
          return text
        }
        const read = (text) => {
          let value = JSON.parse(text)
          for (let level = 0; level < levels; level++) value = JSON.parse(value.body)
          return value
        }
        const text = written(([, digits, shift, zeros]) => respelled(digits, shift, zeros))
        const shown = redactor.redact(text)
        assert.deepEqual(read(shown), read(redactor.redact(written(([, digits]) => digits))), text)
        assert.equal(streamed(redactor, text, at % (text.length + 1)), shown)
      },
    ),
    600,
  ))
