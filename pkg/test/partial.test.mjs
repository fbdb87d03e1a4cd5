// The view of arguments that are still incomplete.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeStream, partialObject } from 'turnlock'

/** A generator of numbers from 0 to below `n`. */
function random(seed) {
  let state = seed
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * n)
  }
}

const TEXTS = [
  '',
  'a',
  'naïve "quoted"\n\\',
  '😀 and 👩‍👩‍👧',
  '\u0000\u001f',
  '{"a":[1,',
  'x'.repeat(40),
]
const NAMES = ['path', 'a b', '__proto__', '', 'é', '0', 'constructor', '😀']

function value(pick, depth) {
  const kind = pick(depth > 3 ? 5 : 7)
  if (kind === 0) return TEXTS[pick(TEXTS.length)] + pick(100)
  if (kind === 1) return [0, -1, 1.5, 1e300, -2e-7, 123456789][pick(6)]
  if (kind < 5) return [true, false, null][kind - 2]
  if (kind === 5) return Array.from({ length: pick(4) }, () => value(pick, depth + 1))
  return object(pick, depth + 1)
}

const object = (pick, depth = 0) =>
  Object.fromEntries(
    Array.from({ length: pick(5) }, () => [NAMES[pick(NAMES.length)], value(pick, depth)]),
  )

/** As JSON, with white space and escapes that a writer may choose. */
function written(pick, what) {
  const text = JSON.stringify(what, null, pick(3))
  if (pick(2)) return text
  const hex = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return text.replace(/[^\u0000-\u007f]/g, hex)
}

/** Whether a value is what may be known of another: less of it, and nothing else. */
function isView(seen, whole) {
  if (typeof seen === 'string') {
    assert.doesNotMatch(seen, /[\ud800-\udbff]$/, 'half a character')
    return typeof whole === 'string' && whole.startsWith(seen)
  }
  if (typeof seen !== 'object' || seen === null) return Object.is(seen, whole)
  if (typeof whole !== 'object' || whole === null || Array.isArray(seen) !== Array.isArray(whole)) {
    return false
  }
  const names = Object.keys(seen)
  return (
    names.length <= Object.keys(whole).length &&
    names.every((name) => Object.hasOwn(whole, name) && isView(seen[name], whole[name]))
  )
}

test('at every cut, the value is a part of the whole', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const pick = random(seed)
    const whole = object(pick)
    const text = written(pick, whole)
    const byChar = partialObject()
    for (let cut = 0; cut < text.length; cut++) {
      const seen = partialObject()
      seen.feed(text.slice(0, cut))
      assert.ok(isView(seen.value ?? {}, whole), `${seed}: ${text.slice(0, cut)}`)
      assert.equal(seen.complete, false)
      // What is known does not depend on the pieces.
      assert.deepEqual(byChar.value, seen.value, `${seed}: ${text.slice(0, cut)}`)
      // The rest leads to the whole.
      assert.deepEqual(seen.feed(text.slice(cut)), whole, `${seed} at ${cut}: ${text}`)
      assert.equal(seen.complete, true)
      byChar.feed(text[cut])
    }
    assert.deepEqual(byChar.value, whole)
    assert.equal(byChar.complete, true)
  }
})

test('strings are there as far as they have arrived, numbers when whole', () => {
  const seen = partialObject()
  assert.equal(seen.feed(''), undefined)
  assert.deepEqual(seen.feed('{"pa'), {})
  assert.deepEqual(seen.feed('th":'), {})
  assert.deepEqual(seen.feed('"./rep'), { path: './rep' })
  assert.deepEqual(seen.feed('orts","n":12'), { path: './reports' })
  assert.deepEqual(seen.feed('3,"list":['), { path: './reports', n: 123, list: [] })
  assert.deepEqual(seen.feed('{"deep":tr'), { path: './reports', n: 123, list: [{}] })
  assert.deepEqual(seen.feed('ue}]}'), { path: './reports', n: 123, list: [{ deep: true }] })
  assert.ok(seen.complete)
})

test('what is not JSON ends the reading, and nothing throws', () => {
  const odd = ['nope', '[1]', '"text"', '12', '{"a":1]', '{"a" 1}', '{a:1}', '{"a":nul}', '}', ',']
  const more = [
    '{"a":"\\x"}',
    '{"a":"\\u12g4"}',
    '{"a":1}}',
    '{"a":@}',
    '{{',
    '{"a":[1}',
    '{"a":--1 }',
  ]
  for (const text of [...odd, ...more]) {
    const [whole, pieces] = [partialObject(), partialObject()]
    whole.feed(text)
    for (const char of text) pieces.feed(char)
    assert.deepEqual(pieces.value, whole.value, text)
    const before = JSON.stringify(whole.value)
    whole.feed('"b":2}')
    assert.equal(JSON.stringify(whole.value), before, text)
  }
  // Random bytes of JSON.
  const pick = random(7)
  const chars = '{}[]",:\\u0d8a1.-e tn'
  for (let n = 0; n < 5_000; n++) {
    const seen = partialObject()
    for (let i = 0; i < 12; i++) seen.feed(chars[pick(chars.length)])
  }
})

test('a member called __proto__ is a member', () => {
  const seen = partialObject()
  seen.feed('{"__proto__":{"polluted":true},"a":1}')
  assert.equal({}.polluted, undefined)
  assert.equal(Object.getPrototypeOf(seen.value), Object.prototype)
  assert.deepEqual(Object.keys(seen.value), ['__proto__', 'a'])
})

test('a megabyte in pieces of 16, and 100 000 levels', () => {
  const text = JSON.stringify({ content: 'line\n'.repeat(200_000) })
  const seen = partialObject()
  for (let at = 0; at < text.length; at += 16) seen.feed(text.slice(at, at + 16))
  assert.deepEqual(seen.value, JSON.parse(text))
  const deep = partialObject()
  deep.feed('{"a":' + '['.repeat(100_000) + ']'.repeat(100_000) + '}')
  assert.ok(deep.complete)
})

test('reads the arguments that decodeStream gives', () => {
  const decoder = decodeStream('openai-chat')
  const chunk = (delta) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`
  const call = (own) => chunk({ tool_calls: [{ index: 0, ...own }] })
  const texts = [
    call({ id: 'c1', type: 'function', function: { name: 'write', arguments: '' } }),
    call({ function: { arguments: '{"path":"a.txt","content":"Dear ' } }),
  ]
  const seen = partialObject()
  for (const text of texts) {
    for (const delta of decoder.feed(new TextEncoder().encode(text))) {
      if (delta.type === 'tool_call_arguments') seen.feed(delta.text)
    }
  }
  assert.deepEqual(seen.value, { path: 'a.txt', content: 'Dear ' })
})
