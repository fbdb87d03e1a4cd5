import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import test from 'node:test'
import { canonicalize, decodeStream, isTurnlockError, signature, TurnlockError } from 'turnlock'
import { data } from '../../tests/data.mjs'

const code = (work) => {
  try {
    work()
  } catch (error) {
    assert.ok(isTurnlockError(error), `${error}`)
    assert.ok(error instanceof TurnlockError && error instanceof Error)
    return error.code
  }
  return 'no error'
}

test('one million random doubles agree with JSON.stringify', () => {
  const bits = new BigUint64Array(1)
  const double = new Float64Array(bits.buffer)
  let state = 0x9e3779b97f4a7c15n
  const next = () => {
    for (;;) {
      state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n)
      bits[0] = state ^ (state >> 29n)
      if (Number.isFinite(double[0])) return double[0]
    }
  }
  for (let batch = 0; batch < 50; batch++) {
    const numbers = Array.from({ length: 20_000 }, next)
    const text = JSON.stringify(numbers)
    // As V8 writes them, and with more digits than needed.
    assert.equal(canonicalize(text), text)
    if (batch % 10 === 0) {
      const long = `[${numbers.map((number) => number.toExponential(20)).join()}]`
      assert.equal(canonicalize(long), text)
    }
  }
})

test('errors have stable codes', () => {
  assert.equal(
    code(() => canonicalize('{"a":1,"a":2}')),
    'json.duplicate_key',
  )
  assert.equal(
    code(() => canonicalize('"\\ud800"')),
    'json.lone_surrogate',
  )
  assert.equal(
    code(() => canonicalize('"\ud800"')),
    'json.lone_surrogate',
  )
  assert.equal(
    code(() => canonicalize('[1,]')),
    'json.syntax',
  )
  assert.equal(
    code(() => canonicalize(undefined)),
    'json.syntax',
  )
  assert.equal(
    code(() => canonicalize('['.repeat(129) + ']'.repeat(129))),
    'json.too_deep',
  )
  assert.equal(
    code(() => canonicalize(' '.repeat(16 * 1024 * 1024 + 1))),
    'json.too_large',
  )
  assert.equal(
    code(() => canonicalize('1e400')),
    'json.number_range',
  )
  assert.equal(
    code(() => decodeStream('esperanto')),
    'dialect.unknown',
  )
  assert.equal(
    code(() => decodeStream('langchain')),
    'dialect.no_stream',
  )
  const cycle = {}
  cycle.self = cycle
  for (const args of [cycle, 1n, undefined, () => 1, Symbol('x')]) {
    assert.equal(
      code(() => signature({ tool: 't', args })),
      'json.not_serializable',
    )
  }
  assert.equal(
    code(() => signature({ tool: 't', args: { a: '\ud800' } })),
    'json.lone_surrogate',
  )
  assert.equal(
    code(() => signature({ tool: 't', args: '{} , "tool":1' })),
    'json.syntax',
  )
})

test('a signature is the hash that the contract names', async () => {
  const hash = async (text) => {
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
    return Buffer.from(digest).toString('hex')
  }
  const call = { tool: 'read', args: { b: [1, 2], a: 'é' }, projectId: 'p' }
  const text = '{"action":null,"args":{"a":"é","b":[1,2]},"projectId":"p","tool":"read"}'
  assert.equal(signature(call), await hash(text))
  assert.equal(signature({ ...call, args: ' {"b":[1.0,2e0], "a":"\\u00e9"}' }), await hash(text))
  const others = [
    { tool: 'x' },
    { action: 'a' },
    { projectId: null },
    { args: { a: 'é', b: [2, 1] } },
  ]
  const all = [call, ...others.map((change) => ({ ...call, ...change }))].map(signature)
  assert.equal(new Set(all).size, all.length)
})

test('a call that cannot be read has no signature, least of all that of another one', () => {
  for (const [call, path] of [
    [undefined, 'tool'],
    [{}, 'tool'],
    [{ tool: null, args: {} }, 'tool'],
    [{ tool: 't', args: {}, action: 1 }, 'action'],
    [{ tool: 't', args: {}, projectId: {} }, 'projectId'],
  ]) {
    const error = { name: 'TurnlockError', code: 'options.invalid', message: new RegExp(path) }
    assert.throws(() => signature(call), error)
  }
})

test('integers beyond 2^53 never collide', () => {
  const of = (args) => signature({ tool: 't', args })
  assert.notEqual(of('{"id":9007199254740993}'), of('{"id":9007199254740992}'))
  assert.equal(canonicalize('9007199254740993'), '9007199254740993')
})

test('any chunking gives the same deltas', () => {
  const text = readFileSync(data('streams-prism-php/files/deepseek/stream-with-tools-1.sse'))
  const decode = (chunks) => {
    const decoder = decodeStream('deepseek')
    return [...chunks.flatMap((chunk) => decoder.feed(chunk)), ...decoder.end()]
  }
  const whole = decode([text])
  assert.ok(whole.some((delta) => delta.type === 'tool_call_end'))
  assert.deepEqual(decode(Array.from(text, (byte) => Uint8Array.of(byte))), whole)
  for (let cut = 0; cut < text.length; cut += 97) {
    assert.deepEqual(decode([text.subarray(0, cut), text.subarray(cut)]), whole)
  }
})

test('a decoder that has ended stays ended', () => {
  const decoder = decodeStream('anthropic')
  assert.deepEqual(decoder.end(), [])
  assert.deepEqual(decoder.feed(new TextEncoder().encode('data: {}\n\n')), [])
  assert.deepEqual(decoder.end(), [])
})

test('the package loads through require', () => {
  const { canonicalize: loaded } = createRequire(import.meta.url)('turnlock')
  assert.equal(loaded('{ }'), '{}')
})
