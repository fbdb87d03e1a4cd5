// Registered values of which characters are escaped, one or all, in each form that is read.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createRedactor } from 'turnlock/redact'

const MASK = '[redacted:value]'
const VALUE = 'k<e&y>"q\'u\u00a0o/t\te\bs\f;é😀z'
const { redact, feed, end } = createRedactor({ values: [VALUE], kinds: ['value'] })

/** What is shown of a text, whole and in each of its characters. */
function shown(text, redactor = { redact, feed, end }) {
  const whole = redactor.redact(text)
  const parts = text.split('').map((unit) => redactor.feed(unit))
  assert.equal(parts.join('') + redactor.end(), whole, text)
  return whole
}

const hex = (code, size) => code.toString(16).padStart(size, '0')
const units = (one, as) => Array.from(one.split(''), (unit) => as(unit.charCodeAt(0))).join('')
const upper = (as) => (one) => as(one)?.replace(/[\da-f]{2,}/g, (text) => text.toUpperCase())
const NAMES = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos', '\u00a0': 'nbsp' }
const IN_JSON = { '\t': '\\t', '\b': '\\b', '\f': '\\f', '"': '\\"', '/': '\\/', "'": "\\'" }
const percent = (one) =>
  Array.from(new TextEncoder().encode(one), (byte) => `%${hex(byte, 2)}`).join('')
const inJson = (one) => units(one, (code) => `\\u${hex(code, 4)}`)
const FORMS = {
  percent,
  'percent in capitals': upper(percent),
  '\\u': inJson,
  '\\u in capitals': upper(inJson),
  '\\x': (one) => (one.charCodeAt(0) < 256 ? `\\x${hex(one.charCodeAt(0), 2)}` : undefined),
  '&#x;': (one) => `&#x${hex(one.codePointAt(0), 1)};`,
  '&#x; of six digits': (one) => `&#X${hex(one.codePointAt(0), 6)};`,
  '&#;': (one) => `&#${one.codePointAt(0)};`,
  '&#; of seven digits': (one) => `&#${String(one.codePointAt(0)).padStart(7, '0')};`,
  'names of HTML': (one) => NAMES[one] && `&${NAMES[one]};`,
  'names of HTML in capitals': (one) => NAMES[one] && `&${NAMES[one].toUpperCase()};`,
  'letters of JSON': (one) => IN_JSON[one],
}
for (const [name, as] of Object.entries(FORMS)) {
  test(`a value with ${name}`, () => {
    const all = [...VALUE]
    for (const [at, one] of all.entries()) {
      const escaped = as(one)
      if (escaped === undefined) continue
      const text = `is ${[...all.slice(0, at), escaped, ...all.slice(at + 1)].join('')}, and on`
      assert.equal(shown(text), `is ${MASK}, and on`, text)
    }
    const text = `is ${all.map((one) => as(one) ?? one).join('')}, and on`
    assert.equal(shown(text), `is ${MASK}, and on`, text)
  })
}

test('what is no whole escape stands for itself', () => {
  const redactor = createRedactor({ values: ['aAbcdef'], kinds: ['value'] })
  const others = ['%4', '%4g', '\\u041', '\\u004', '\\x4', '&#x41', '&#x0000041;', '&#00000065;']
  for (const other of [...others, '&#65', '&#;', '&#x;', '&nbsp', '&am;', '%', '&', '\\x'])
    for (const text of [`a${other}bcdef`, `a${other}bcdef ${'x'.repeat(20)}`, `a${other}`])
      assert.equal(shown(text, redactor), text)
  for (const text of ['a%41bcdef', 'a\\u0041bcdef', 'a\\x41bcdef', 'a\\Abcdef', 'aAbcdef'])
    assert.equal(shown(text, redactor), MASK)
})

test('of what begins like an escape, no more is held back than may be one', () => {
  const redactor = createRedactor({ values: ['aAbcdef'], kinds: ['value'] })
  for (const begun of [
    '%4',
    '\\',
    '\\u',
    '\\u004',
    '\\x',
    '\\x4',
    '&',
    '&am',
    '&#',
    '&#x4',
    '&#6',
  ]) {
    assert.equal(redactor.feed(`. ${begun}`), '. ', begun)
    assert.equal(redactor.end(), begun)
  }
  for (const plain of [
    '%g',
    '\\u0g',
    '&#x4g',
    '&#g',
    '&a1',
    '&1',
    '&#6g',
    '&abcdefghi',
    '&#x12345678',
  ]) {
    assert.equal(redactor.feed(`. ${plain} `), `. ${plain} `)
    redactor.end()
  }
  // What is as long as any escape, and what does not begin like one, is not waited for.
  assert.equal(redactor.feed('. &abcdefghi'), '. &abcdefghi')
  assert.equal(redactor.feed('. &;\\'), '. &;')
  assert.equal(redactor.feed('- &'), '\\- ')
})

test('without values, only what may be an escape of JSON is waited for', () => {
  for (const values of [undefined, []]) {
    const { feed, end } = createRedactor({ values, kinds: ['value', 'card'] })
    assert.deepEqual([feed('. &am'), feed('\\x4')], ['. &am', '\\x4'])
    assert.deepEqual([feed('\\u00'), feed('zz'), end()], ['', '\\u00zz', ''])
  }
})

test('characters that there are not are none', () => {
  for (const text of ['&#xffffff; x', '&#9999999; x', '&#x110041; x', '\\ud83d x', '\\ude00 x'])
    assert.equal(shown(text), text)
})

test('both halves of a pair belong together only side by side', () => {
  const redactor = createRedactor({ values: ['a😀bcd'], kinds: ['value'] })
  const [high, low] = ['\\ud83d', '\\ude00']
  assert.equal(shown(`a${high}${low}bcd.`, redactor), `${MASK}.`)
  assert.equal(shown(`a${'😀'[0]}${low}bcd.`, redactor), `${MASK}.`)
  assert.equal(shown(`a${high}${'😀'[1]}bcd.`, redactor), `${MASK}.`)
  for (const text of [
    `a${high}-${low}bcd.`,
    `a${low}bcd.`,
    `a${high}bcd.`,
    `a${high}\n${low}bcd.`,
    `a${low}${high}bcd.`,
  ])
    assert.equal(shown(text, redactor), text)
})

test('a value begins and ends with any character', () => {
  const [first, last] = ['\u{10000}', '\u{10ffff}']
  for (const value of [
    'abcdé',
    'abc漢',
    'abcd😀',
    '😀abcd',
    `ab${first}cd`,
    `ab${last}cd`,
    'ab\x80cd',
  ])
    for (const as of [inJson, percent, (one) => `&#${one.codePointAt(0)};`]) {
      const redactor = createRedactor({ values: [value.padEnd(6, value.at(-1))], kinds: ['value'] })
      const all = [...value.padEnd(6, value.at(-1))]
      for (const at of all.keys()) {
        const text = [...all.slice(0, at), as(all[at]), ...all.slice(at + 1)].join('')
        assert.equal(shown(`${text}.`, redactor), `${MASK}.`, text)
      }
    }
  const redactor = createRedactor({ values: ['😀bcdefg', 'a\ue000bcdef'], kinds: ['value'] })
  assert.equal(shown('x \\ud83d\\ude00bcdefg', redactor), `x ${MASK}`)
  assert.equal(shown('x \\ud83d… y', redactor), 'x \\ud83d… y')
  // Half of a pair that stands alone is skipped.
  assert.equal(shown('x a\\ud83d\\ue000bcdef', redactor), `x ${MASK}`)
})

test('spaces and the ends of lines', () => {
  const redactor = createRedactor({ values: ['my own\nvalue', 'ab\ncde'], kinds: ['value'] })
  for (const space of [' ', '+', '%20', '%2B', '&#32;'])
    for (const line of ['', '\n', '\r\n', '\\n', '\\r\\n', '%0D%0A'])
      assert.equal(shown(`x my${space}own${line}value.`, redactor), `x ${MASK}.`)
  const plus = createRedactor({ values: ['my+own+value'], kinds: ['value'] })
  for (const text of ['my%2Bown+value', 'my own+value', 'my%20own+value', 'my+own+value'])
    assert.equal(shown(text, plus), MASK)
  // Without the end of its line it is shorter than a value may be.
  assert.equal(shown('x abcde ab\ncde', redactor), `x abcde ${MASK}`)
  const six = createRedactor({ values: ['ab\r\ncdef', 'g\nhi\njk'], kinds: ['value'] })
  assert.equal(shown('x abcdef ghijk', six), `x ${MASK} ghijk`)
})

for (const times of [300, 420]) {
  test(`a value of ${times}0 characters is masked from its beginning`, () => {
    const long = `begin ${'abcdefghi '.repeat(times)}end`
    const redactor = createRedactor({ values: [long], kinds: ['value'] })
    assert.equal(redactor.redact(`x ${long.slice(0, -1)}%64 y`), `x ${MASK} y`)
  })
}

test('a value of any character', () => {
  const redactor = createRedactor({ values: ['\0nul-value', 'tab\tand\x01one'], kinds: ['value'] })
  assert.equal(shown('x \0nul-value y', redactor), `x ${MASK} y`)
  assert.equal(shown('x \\u0000nul-value y \0\0nul-value', redactor), `x ${MASK} y \0${MASK}`)
  // In hexadecimal, each byte has two digits.
  assert.equal(shown('x 74616209616e64016f6e65 y', redactor), `x ${MASK} y`)
})
