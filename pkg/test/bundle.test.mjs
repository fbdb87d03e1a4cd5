// Bundles through the package: what the tables (tests/bundles) leave open.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import fc from 'fast-check'
import * as turnlock from 'turnlock'
import {
  BUNDLE_HINT,
  citedDisagreements,
  bundleTool,
  combineOutputs,
  distance,
  expandBundle,
  replayBundle,
  replicateByModel,
  replicateByTurn,
  runBundle,
  runLints,
  summarizeReplicates,
} from 'turnlock/evidence'
import { customModel, runTurn } from 'turnlock'
import { z } from 'zod'
import { data } from '../../tests/data.mjs'
import { strictJson } from '../dist/evidence/json.js'
import { partsOf } from './parts.mjs'

const given = data('stats/given/')
/** Options of the vectors, which have the names of a bundle's JSON. */
const camelCase = (members = {}) =>
  Object.fromEntries(
    Object.entries(members).map(([name, value]) => [
      name.replace(/_(.)/g, (_, letter) => letter.toUpperCase()),
      value,
    ]),
  )
const says = (data) => async () => ({ data })
const { live } = await partsOf('../dist')
const all = async (iterable) => {
  const items = []
  for await (const item of iterable) items.push(item)
  return items
}

test('the oracle vectors, through the package', () => {
  let checked = 0
  for (const name of ['numeric', 'category', 'text', 'array', 'object', 'bundle']) {
    const { cases } = JSON.parse(readFileSync(new URL(`${name}.json`, given), 'utf8'))
    for (const { id, op, input, expected } of cases) {
      // JSON.parse cannot hold these two apart; the native tests have them.
      if (!['distance', 'bundle'].includes(op) || id === 'g-numeric-008') continue
      checked++
      const { schema, weights, epsilon, caps, options } = input
      const limits = caps && camelCase(caps)
      if (op === 'distance') {
        const got = distance(input.a, input.b, { schema, ...camelCase(options) })
        assert.ok(Math.abs(got - expected.distance) < 1e-12, `${id}: ${got}`)
        continue
      }
      const replicates = input.replicates.map(({ data, valid, errors }) => ({
        ...(data !== undefined && { data }),
        quality: { valid, errors },
      }))
      const own = { schema, epsilon, ...(weights && { weights }), ...(limits && { limits }) }
      const got = summarizeReplicates(replicates, own)
      const near = (a, b) => (a === null || b === null ? a === b : Math.abs(a - b) < 1e-12)
      assert.ok(near(got.confidence, expected.confidence), id)
      assert.deepEqual(got.support, expected.support, id)
      // Ids stand beside the places, which the vectors have.
      const places = ({ replicateIds, ...one }) => {
        assert.deepEqual(
          replicateIds,
          one.replicates.map((at) => `r${at + 1}`),
        )
        return one
      }
      assert.deepEqual(
        got.disagreements.map(({ field, values }) => ({ field, values: values.map(places) })),
        expected.disagreements.map(({ field, values }) => ({ field, values })),
        id,
      )
      assert.deepEqual(Object.keys(got.distributions), Object.keys(expected.distributions), id)
      assert.equal(got.early_stop, expected.early_stop, id)
      assert.equal(got.truncated, expected.truncated ?? false, id)
    }
  }
  assert.equal(checked, 80)
})

test('NFC as the engine has it, for every code point and for strings of marks', () => {
  const category = { schema: { type: 'string', pattern: '' } }
  const same = (a, b) => distance(a, b, category) === 0
  const texts = []
  for (let code = 0x80; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code < 0xe000) continue
    const text = String.fromCodePoint(code)
    for (const form of [text.normalize('NFD'), text.normalize('NFC')]) {
      if (form !== text) texts.push([text, form])
    }
  }
  // In one list a side: the distance of sequences counts what differs.
  const schema = { type: 'array', 'x-compare': 'sequence' }
  for (let at = 0; at < texts.length; at += 5_000) {
    const part = texts.slice(at, at + 5_000)
    const [a, b] = [part.map(([one]) => one), part.map(([, other]) => other)]
    assert.equal(distance(a, b, { schema }), 0, `from ${at}`)
  }
  assert.ok(texts.length > 13_000)
  const marks = fc.constantFrom(
    ...'aeiouÅq',
    '\u0301',
    '\u0323',
    '\u0307',
    '\u0345',
    '\u0334',
    '\u0302',
    '\u1100',
    '\u1161',
    '\u11a8',
    '\uac00',
    '\u09c7',
    '\u09be',
    '\u200b',
    '\u{1d15e}',
    '\u0f71',
    '\u0f72',
    '\u3099',
    'か',
  )
  const string = fc.array(marks, { maxLength: 12 }).map((list) => list.join(''))
  const property = fc.property(string, string, (a, b) => {
    assert.ok(same(a, a.normalize('NFD')) && same(a, a.normalize('NFC')))
    assert.equal(same(a, b), a.normalize('NFC') === b.normalize('NFC'))
  })
  fc.assert(property, { numRuns: 3000 })
})

test('misuse is told before any replicate starts', async () => {
  let started = 0
  const replicate = async () => ({ data: started++ })
  const before = live()
  for (const [options, option] of [
    [{ k: 0 }, 'k'],
    [{ k: 1000 }, 'k'],
    [{ epsilon: -0.1 }, 'epsilon'],
    [{ epsilon: NaN }, 'NaN'],
    [{ weights: [0, 0, 0] }, 'weights'],
    [{ seeds: [1, 1, 2] }, 'seeds'],
    [{ seeds: null, k: 0 }, 'k'],
    [{ schema: 7 }, 'schema'],
    [{ schema: { type: 'nonsense' } }, 'schema'],
    [{ mustAgree: ['label'] }, 'mustAgree'],
    [{ mustAgree: 'all' }, 'mustAgree'],
    [{ mustAgree: [5] }, 'mustAgree'],
    [{ budget: { cost: 5 } }, 'budget.cost'],
    [{ limits: { maxBytes: -1 } }, 'limits.maxBytes'],
    [{ kk: 3 }, 'kk'],
    [{ task: '' }, 'task'],
    [{ replicate: 7 }, 'replicate'],
    [{ redact: /sk-/ }, 'redact'],
    [{ signal: new AbortController() }, 'signal'],
  ]) {
    assert.throws(
      () => runBundle({ task: 't', replicate, ...options }),
      (error) => error.code === 'options.invalid' && error.message.includes(option),
      option,
    )
  }
  assert.throws(() => bundleTool({ name: 'x', replicate, k: 0 }), { code: 'options.invalid' })
  assert.throws(() => bundleTool({ name: '', replicate }), { code: 'options.invalid' })
  // What only the core reads.
  for (const [schema, option] of [
    [{ properties: { a: { 'x-weight': 0 } } }, 'schema'],
    [{ properties: { a: { 'x-weight': -1 } } }, 'schema.properties.a.x-weight'],
    [{ 'x-compare': 'roughly' }, 'schema.x-compare'],
  ]) {
    await assert.rejects(
      runBundle({ task: 't', replicate, schema }).result,
      (error) => error.code === 'options.invalid' && error.message.includes(option),
      option,
    )
  }
  assert.equal(started, 0)
  assert.equal(live(), before)
})

test('values without JSON are refused by code', () => {
  const ring = {}
  ring.self = ring
  let deep = 1
  for (let i = 0; i < 1000; i++) deep = [deep]
  for (const [value, code] of [
    [NaN, 'json.not_serializable'],
    [{ a: [Infinity] }, 'json.not_serializable'],
    [ring, 'json.not_serializable'],
    [1n, 'json.not_serializable'],
    [() => 1, 'json.not_serializable'],
    [[undefined], 'json.not_serializable'],
    [undefined, 'json.not_serializable'],
    [deep, 'json.too_deep'],
    ['\ud800', 'json.lone_surrogate'],
    ['x'.repeat(50_000_000), 'json.too_large'],
  ]) {
    assert.throws(() => distance(value, 1), { code })
    if (value === undefined) continue
    const { invalid, valid_count, confidence } = summarizeReplicates([{ data: value }, { data: 1 }])
    assert.deepEqual([valid_count, confidence], [1, null])
    assert.ok(invalid[0].errors[0].startsWith(code), invalid[0].errors[0].slice(0, 100))
  }
  assert.throws(() => summarizeReplicates([{ id: 'a' }, { id: 'a' }]), { code: 'options.invalid' })
  assert.throws(() => summarizeReplicates([null]), { code: 'options.invalid' })
  for (const weights of [[-1], [NaN], [1, 1], []]) {
    const misuse = () => summarizeReplicates([{ data: 1 }], { weights })
    assert.throws(misuse, { code: 'options.invalid' })
  }
  assert.equal(summarizeReplicates([]).confidence_reason, 'no_valid_replicate')
})

test('a replicate that gives no JSON is evidence, and the bundle goes on', async () => {
  const ring = {}
  ring.self = ring
  let deep = 1
  for (let i = 0; i < 1000; i++) deep = [deep]
  const bad = [
    [() => ({ data: NaN }), 'json.not_serializable'],
    [() => ({ data: ring }), 'json.not_serializable'],
    [() => ({ data: deep }), 'json.too_deep'],
    [() => ({ data: 'x'.repeat(50_000_000) }), 'json.too_large'],
    [() => undefined, 'json.not_serializable'],
    [
      () => {
        throw 'a string'
      },
      'a string',
    ],
    [() => Promise.reject(new Error('later')), 'later'],
  ]
  const before = live()
  const bundle = await runBundle({
    task: 't',
    k: bad.length + 2,
    stop: 'never',
    replicate: ({ id }) => (bad[Number(id.slice(1)) - 1]?.[0] ?? says({ a: 1 }))(),
    schema: { type: 'object', required: ['a'] },
  }).result
  bad.forEach(([, says], at) => {
    const { quality } = bundle.replicates[at]
    assert.equal(quality.valid, false)
    assert.ok(quality.errors[0].startsWith(says), quality.errors[0].slice(0, 80))
  })
  assert.equal(bundle.summary.confidence, 1)
  assert.equal(bundle.summary.valid_count, 2)
  assert.equal(live(), before)
})

test('data that does not fit is kept, with what speaks against it', async () => {
  for (const schema of [
    { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    z.object({ n: z.number().int() }),
  ]) {
    const { replicates, summary } = await runBundle({
      task: 't',
      schema,
      schemaUri: 'urn:x',
      schemaVersion: 'x.v1',
      replicate: async ({ id }) => ({ data: { n: id === 'r1' ? 'one' : 1 } }),
    }).result
    assert.deepEqual(replicates[0].data, { n: 'one' })
    assert.match(replicates[0].quality.errors.join(), /n/)
    assert.deepEqual(summary.consensus, { '/n': 1 })
    assert.deepEqual(summary.disagreements[0].values.at(-1), {
      value: 'one',
      replicates: [0],
      replicateIds: ['r1'],
      invalid: true,
    })
  }
})

test('a Standard Schema says how to compare', async () => {
  const schema = z.object({
    score: z.number().min(0).max(10),
    why: z.string().meta({ 'x-weight': 0 }),
    label: z.enum(['a', 'b']).nullable(),
  })
  const [a, b] = [
    { score: 1, why: 'x', label: 'a' },
    { score: 2, why: 'y', label: 'a' },
  ]
  const { pairwise_distance } = summarizeReplicates([{ data: a }, { data: b }], { schema })
  assert.ok(Math.abs(pairwise_distance[0][1] - 0.05) < 1e-12)
})

test('redaction runs before anything leaves', async () => {
  const redact = (text) => text.replaceAll(/sk-\w+/g, '[key]')
  const secret = /sk-\w/
  const seen = []
  const running = runBundle({
    task: 't',
    redact,
    k: 3,
    eventManager: { on_delta: (event) => seen.push(event), on_complete: (e) => seen.push(e) },
    replicate: async ({ id }) => {
      if (id === 'r3') throw new Error('refused sk-12345')
      return { data: { 'sk-name': `sk-${id}`, tokens: [`sk-x`], n: 1 } }
    },
  })
  const events = await all(running)
  const bundle = await running.result
  for (const one of [...events, ...seen, bundle]) assert.doesNotMatch(JSON.stringify(one), secret)
  assert.deepEqual(bundle.replicates[0].data, { '[key]': '[key]', tokens: ['[key]'], n: 1 })
  // The numbers are those of the data as it came: the two texts differ.
  assert.ok(bundle.summary.confidence < 1)
  const failing = () => {
    throw new Error('no')
  }
  const { replicates } = await runBundle({ task: 't', redact: failing, replicate: says('sk-1') })
    .result
  assert.equal(replicates[0].data, '[redaction failed]')
})

test('schema without a JSON form: values are compared by type', async () => {
  const made = z.object({ at: z.coerce.date(), n: z.number() })
  const replicate = async () => ({ data: { at: '2026-11-30T08:00:00Z', n: 1 } })
  const { summary } = await runBundle({ task: 't', schema: made, replicate }).result
  assert.deepEqual(summary.consensus, { '/at': '2026-11-30T08:00:00.000Z', '/n': 1 })
  const big = z.object({ n: z.coerce.number(), at: z.map(z.string(), z.string()).optional() })
  const other = await runBundle({ task: 't', schema: big, replicate: async () => ({ data: { n: '1' } }) }).result // prettier-ignore
  assert.deepEqual(other.summary.consensus, { '/n': 1 })
})

test('redaction: includes `common` of disagreements', async () => {
  const redact = (text) => text.replaceAll(/sk-\w+/g, '[key]')
  const lists = [['sk-1', 'a'], ['sk-1', 'b'], ['sk-1', 'c']] // prettier-ignore
  const replicate = async ({ id }) => ({ data: { l: lists[Number(id.slice(1)) - 1] } })
  const { summary } = await runBundle({ task: 't', replicate, redact }).result
  assert.deepEqual(summary.disagreements[0].common, ['[key]'])
})

test('text tokens: include every symbol and no punctuation', () => {
  const [symbols, marks] = [[], []]
  for (let code = 0xa0; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code < 0xe000) continue
    const c = String.fromCodePoint(code)
    // Notes of music are two others.
    if (c.normalize('NFC') !== c) continue
    // Letters and digits are words; `‰` is a token although it is punctuation; `−≤≥≠` and
    // full-width forms stand for others.
    if (/[\p{Alphabetic}\p{N}‰−≤≥≠\uff01-\uff5e]/u.test(c)) continue
    if (/[\p{Sc}\p{So}\p{Sm}]/u.test(c)) symbols.push(c)
    else if (/[\p{P}\p{Z}]/u.test(c)) marks.push(c)
  }
  assert.ok(symbols.length > 7000 && marks.length > 700)
  // All in one text; one that is missing would change the number of tokens.
  const apart = (text) => distance({ v: text }, { v: 'a b' })
  assert.ok(Math.abs(apart(`a ${symbols.join(' ')} b`) - (1 - 2 / (symbols.length + 2))) < 1e-12)
  assert.equal(apart(`a ${marks.join(' ')} b`), 0)
})

test('a secret that a cut divides is redacted whole', async () => {
  const redact = (text) => text.replaceAll(/sk-[a-f]{8}/g, '[key]')
  // Wherever the core cuts, a secret is there.
  const long = 'sk-abcdefab '.repeat(200)
  const seen = []
  const running = runBundle({
    task: 't',
    redact,
    k: 3,
    stop: 'never',
    limits: { maxBytes: 4000 },
    schema: {
      '~standard': {
        version: 1,
        vendor: 'x',
        validate: (value) => (value.bad ? { issues: [{ message: `not so: ${long}` }] } : { value }),
      },
    },
    replicate: async ({ id }) => {
      if (id === 'r3') throw new Error(long)
      return { data: { text: long + id, ...(id === 'r2' && { bad: true }) } }
    },
  })
  for await (const event of running) seen.push(event)
  const bundle = await running.result
  assert.match(JSON.stringify(bundle.replicates), /… \(\d+ characters\)/)
  assert.equal(bundle.summary.counts.long_strings.total > 0, true)
  for (const one of [...seen, bundle]) assert.doesNotMatch(JSON.stringify(one), /sk-|abcdef/)
})

test('a secret in the reason of a cancel is redacted whole', async () => {
  const redact = (text) => text.replaceAll(/sk-[a-f]{8}/g, '[key]')
  // Wherever the reason is cut, a secret is there.
  const seen = []
  const running = runBundle({ task: 't', redact, replicate: () => new Promise(() => {}) })
  running.cancel('sk-abcdefab '.repeat(200))
  for await (const event of running) seen.push(event)
  assert.match(JSON.stringify(seen), /\[key\] \[key\]/)
  assert.doesNotMatch(JSON.stringify(seen), /sk-|abcdef/)
})

test('events under normalized names', async () => {
  const names = []
  const note = (name) => (event) => names.push([name, event.type, event.metadata.source])
  const eventManager = Object.fromEntries(
    ['on_start', 'on_delta', 'on_usage', 'on_complete', 'on_error'].map((n) => [n, note(n)]),
  )
  const usage = { inputTokens: 1, outputTokens: 1 }
  const replicate = async () => ({ data: 1, usage })
  await runBundle({ task: 't', source: 'judge_tool', replicate, eventManager }).result
  assert.deepEqual(
    names.map(([name]) => name),
    [
      'on_start',
      ...Array(3).fill('on_delta'),
      'on_usage',
      'on_delta',
      'on_usage',
      'on_delta',
    ].concat('on_usage', 'on_complete'),
  )
  assert.ok(names.every(([, , source]) => source === 'judge_tool'))
  names.length = 0
  const running = runBundle({ task: 't', replicate: () => new Promise(() => {}), eventManager })
  running.cancel('user')
  await running.result
  assert.ok(names.some(([name, type]) => name === 'on_error' && type === 'cancelled'))
})

test('what is cancelled while its start is told does not begin', async () => {
  let begun = 0
  const replicate = async () => ({ data: ++begun })
  const eventManager = { on_delta: () => running.cancel('at once') }
  const running = runBundle({ task: 't', replicate, eventManager })
  assert.equal((await running.result).meta.stopped, 'cancelled')
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(begun, 0)
})

test('signals: the host cancels, a straggler is told, a reader leaves', async () => {
  const reasons = []
  const hanging = ({ id, signal }) =>
    new Promise((resolve) => {
      if (id !== 'r3') return resolve({ data: 1 })
      signal.addEventListener('abort', () => reasons.push(signal.reason.message))
    })
  const { meta } = await runBundle({ task: 't', parallel: 3, replicate: hanging }).result
  assert.deepEqual([meta.stopped, reasons], ['early', ['early']])
  const never = () => new Promise(() => {})
  const aborted = runBundle({ task: 't', replicate: never, signal: AbortSignal.abort('now') })
  assert.equal((await aborted.result).meta.stopped, 'cancelled')
  const left = runBundle({ task: 't', replicate: never })
  for await (const event of left) if (event.type === 'replicate_started') break
  assert.equal((await left.result).meta.stopped, 'cancelled')
})

test('a ceiling of tokens holds while a replicate runs', async () => {
  let told
  const replicate = ({ id, signal, report }) =>
    id === 'r1'
      ? new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve((told = signal.reason.message)))
          report({ totalTokens: 50 })
          report({ totalTokens: 101 })
        })
      : { data: 1, usage: { totalTokens: 5 } }
  const { meta } = await runBundle({ task: 't', k: 2, replicate, perReplicate: { tokens: 100 } })
    .result
  assert.equal(told, 'token_limit')
  assert.deepEqual(
    meta.per_replicate.map(({ status, usage }) => [status, usage.totalTokens]),
    [
      ['token_limit', 101],
      ['valid', 5],
    ],
  )
})

test('a recording says the same again, also as a file', async () => {
  const replicate = async ({ id }) => ({ data: { a: id, text: 'sk-1' }, usage: { inputTokens: 3 } })
  const redact = (text) => text.replace('sk-1', '…')
  const running = runBundle({ task: 't', k: 4, replicate, redact, record: true, compact: true })
  const events = await all(running)
  const recording = JSON.parse(JSON.stringify(running.recording))
  const before = live()
  const again = await replayBundle(recording, { redact })
  assert.equal(JSON.stringify(again.result), JSON.stringify(await running.result))
  assert.equal(JSON.stringify(again.events), JSON.stringify(events))
  for (const wrong of [null, {}, { ...recording, version: 2 }]) {
    assert.throws(() => replayBundle(wrong), { code: 'options.invalid' })
  }
  await assert.rejects(replayBundle({ ...recording, facts: [] }), { code: 'options.invalid' })
  assert.equal(live(), before)
})

test('compact bundles expand to what they were', async () => {
  const data = (n) => ({ list: Array.from({ length: 400 }, (_, i) => `item ${i}`), n })
  const replicate = async ({ seed }) => ({ data: data(seed) })
  const bundle = await runBundle({ task: 't', replicate, compact: true, stop: 'never' }).result
  const full = JSON.stringify(bundle.replicates.map((_, at) => data([11, 23, 47][at])))
  assert.ok(JSON.stringify(bundle.replicates).length < full.length / 2)
  assert.equal(JSON.stringify(expandBundle(bundle).replicates.map((one) => one.data)), full)
})

test('bytes are capped in order, and `fields` shows no more than it names', async () => {
  const replicate = async ({ id }) => ({
    data: { secret: `s-${id}`, label: id, note: 'long '.repeat(400) + id },
  })
  const full = await runBundle({ task: 't', replicate, fields: ['/label'] }).result
  assert.doesNotMatch(JSON.stringify(full), /s-r1|long/)
  assert.deepEqual(full.replicates[0].data, { label: 'r1' })
  // What is not shown was computed with.
  assert.equal(full.summary.pairwise_distance[0][1] > 0.6, true)
  for (const maxBytes of [3_000, 5_000, 9_000]) {
    const bundle = await runBundle({ task: 't', replicate, limits: { maxBytes } }).result
    const text = JSON.stringify(bundle)
    assert.ok(Buffer.byteLength(text) <= maxBytes, `${text.length} of ${maxBytes}`)
    assert.equal(bundle.summary.truncated, true)
    assert.equal(bundle.summary.counts.replicates.total, 3)
    // Long strings are cut before any data goes.
    const { replicates, long_strings } = bundle.summary.counts
    assert.deepEqual([replicates.shown, long_strings.shown], [maxBytes === 3_000 ? 0 : 3, 0])
    assert.ok(long_strings.total > 3)
    assert.deepEqual(bundle.summary.pairwise_distance, full.summary.pairwise_distance)
  }
})

test('replicates by model and by turn', async () => {
  const requests = []
  const model = customModel(async function* (request) {
    requests.push(request)
    yield { type: 'text', text: `{"seed":${request.seed}}` }
    yield { type: 'usage', usage: { inputTokens: 7, outputTokens: 2 } }
  })
  const byModel = replicateByModel({
    model,
    prompt: 'Judge {{text}} by {{ rules }}.',
    system: 'You are {{who}}.',
    input: { text: 'it', rules: [1], who: 'strict' },
  })
  const bundle = await runBundle({ task: 't', replicate: byModel, stop: 'never', k: 2 }).result
  assert.deepEqual(
    bundle.replicates.map(({ data }) => data),
    [{ seed: 11 }, { seed: 23 }],
  )
  assert.equal(bundle.meta.usage.totalTokens, 18)
  assert.deepEqual(requests[0].messages, [
    { role: 'system', content: 'You are strict.' },
    { role: 'user', content: 'Judge it by [1].' },
  ])
  assert.throws(() => replicateByModel({ model, prompt: '{{gone}}' }), { code: 'options.invalid' })
  const failing = customModel(async function* () {
    throw new Error('no model')
  })
  const messages = ({ id }) => [{ role: 'user', content: id }]
  const byTurn = replicateByTurn({ model: failing, messages })
  const failed = await runBundle({ task: 't', k: 1, replicate: byTurn }).result
  assert.match(failed.replicates[0].quality.errors[0], /no model/)
})

test('a tool tells how far it is, and says nothing that has no JSON', async () => {
  const calls = customModel(async function* ({ messages }) {
    if (JSON.stringify(messages).includes('TOOL RESULT')) yield { type: 'text', text: 'ok' }
    else {
      yield { type: 'tool_call_start', index: 0, id: 'c', name: 'work' }
      yield { type: 'tool_call_end', index: 0 }
    }
  })
  const { defineTool } = await import('turnlock')
  let late
  const work = defineTool({
    description: '',
    inputSchema: { type: 'object' },
    execute(_, { report }) {
      late = report
      report({ step: 1 })
      report(1n)
      report('x'.repeat(70_000))
      report(undefined)
      return 'done'
    },
  })
  const turn = runTurn({
    model: calls,
    messages: [{ role: 'user', content: 'go' }],
    tools: { work },
  })
  const events = await all(turn)
  const progress = events.filter(({ type }) => type === 'tool_progress')
  assert.deepEqual(
    progress.map(({ data, name, toolCallId, phase }) => [data, name, toolCallId, phase]),
    [
      [{ step: 1 }, 'work', 'c', 'tool_phase'],
      [null, 'work', 'c', 'tool_phase'],
    ],
  )
  assert.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, at) => at + 1),
  )
  late({ step: 2 }) // nobody listens any more
  assert.equal((await turn.result).status, 'complete')
})

test('tools of bundles are the same in Rust', async () => {
  const file = new URL('../../crates/client/src/evidence/tool.rs', import.meta.url)
  const rust = readFileSync(file, 'utf8')
  const [, hint] = /BUNDLE_HINT: &str = "((?:[^"\\]|\\\n)*)"/.exec(rust)
  assert.equal(hint.replaceAll(/\\\n\s*/g, ''), BUNDLE_HINT)
  const number = (text) => Number(text.replaceAll('_', ''))
  const constant = (name) => number(new RegExp(`${name}: \\w+ = ([\\d_]+)`).exec(rust)[1])
  const limits = {
    max_fields: constant('MAX_FIELDS'),
    max_diffs: constant('MAX_DIFFS'),
    max_bytes: constant('MAX_BYTES'),
  }
  const replicate = says(1)
  const tool = bundleTool({ name: 'judge', replicate })
  const { meta } = await tool.execute({}, {})
  assert.deepEqual(limits, meta.limits)
  assert.deepEqual(meta.budget, { seconds: constant('SECONDS') })
  assert.equal(tool.timeoutMs, meta.budget.seconds * 1000 + constant('GRACE_MS'))
  assert.equal(tool.maxResultBytes, 4 * limits.max_bytes)
  const small = bundleTool({ name: 'judge', replicate, limits: { maxBytes: 1 } })
  assert.equal(small.maxResultBytes, constant('RESULT_BYTES'))
})

test('outputs are combined by kind, never merged', () => {
  assert.deepEqual(combineOutputs([]), { kind: 'text', text: '' })
  assert.deepEqual(combineOutputs(['a', 'b']), { kind: 'text', text: 'a\n\nb' })
  assert.deepEqual(combineOutputs(['a', 'b'], { separator: '' }).text, 'ab')
  assert.deepEqual(combineOutputs(['{"a":1}']), { kind: 'json', data: { a: 1 } })
  assert.deepEqual(combineOutputs(['x', { a: 1 }, '{ not json']), {
    kind: 'json',
    text: 'x\n\n{ not json',
    data: { a: 1 },
  })
  const several = combineOutputs([{ a: 1 }, '{"a":2}', 'and text'])
  assert.deepEqual([several.kind, several.text], ['bundle', 'and text'])
  assert.deepEqual(several.replicates, [{ a: 1 }, { a: 2 }])
  assert.equal(several.summary.disagreements[0].field, '/a')
})

test('outputs after thinking and in fences are JSON', () => {
  const fenced = (json) => '```json\n' + json + '\n```'
  assert.deepEqual(combineOutputs([fenced('{"a":1}')]), { kind: 'json', data: { a: 1 } })
  const several = combineOutputs([fenced('{"a":1}'), ` ${fenced('{"a":2}')}\n`])
  assert.deepEqual([several.kind, several.replicates], ['bundle', [{ a: 1 }, { a: 2 }]])
  for (const output of [
    `<think>{"a":2} or {"a":3}?</think>\n${fenced('{"a":1}')}`,
    '{"a":2}?</think>{"a":1}',
    '\ufeff{"a":1}',
    '````\n{"a":1}\n````',
  ]) {
    assert.deepEqual(combineOutputs([output]), { kind: 'json', data: { a: 1 } }, output)
  }
  // No word is lost, and nothing is guessed.
  for (const text of [
    `Here: ${fenced('{"a":1}')}`,
    '{"a":1} {"a":1}',
    '{"a":1,}',
    '<think>{"a":1}',
    fenced('5'),
    'null',
    '',
  ]) {
    assert.deepEqual(combineOutputs([text]), { kind: 'text', text }, text)
  }
})

test('what is no list, no bundle, no lint and no way to read is refused', () => {
  const refused = (path, call) =>
    assert.throws(call, (error) => {
      assert.ok(turnlock.isTurnlockError(error), String(error))
      assert.equal(error.code, 'options.invalid')
      assert.ok(error.message.startsWith(`\`${path}\`: expected `), error.message)
      return true
    })
  for (const outputs of [undefined, null, 5, 'text', { a: 1 }]) {
    refused('outputs', () => combineOutputs(outputs))
  }
  for (const bundle of [undefined, null, 5, {}, { replicates: 1 }, { replicates: [null] }]) {
    refused('bundle', () => expandBundle(bundle))
    refused('bundle', () => citedDisagreements('/a', bundle))
  }
  refused('bundle', () => citedDisagreements('/a', { summary: {} }))
  for (const lints of [5, 'text', [], () => []]) refused('lints', () => runLints({ lints }))
  const model = customModel(async function* () {})
  for (const read of ['odd', 5, null]) {
    refused('read', () => replicateByModel({ model, prompt: 'p', read }))
    refused('read', () => replicateByTurn({ model, messages: [], read }))
  }
})

test('ids of the host stand beside places', () => {
  const replicates = [{ id: 'gpt', data: { a: 1 } }, { data: { a: 2 } }]
  const [{ values }] = summarizeReplicates(replicates).disagreements
  assert.deepEqual(
    values.map(({ replicates, replicateIds }) => [replicates, replicateIds]),
    [
      [[0], ['gpt']],
      [[1], ['r2']],
    ],
  )
})

test('a decision cites disagreements that exist', async () => {
  const replicate = ({ id }) => ({ data: { label: id, 'due date': id, a: 1 } })
  const bundle = await runBundle({ task: 't', k: 2, replicate }).result
  const text = 'They differ about `/label`; /a is settled.'
  assert.deepEqual(citedDisagreements(text, bundle), {
    cited: ['/label'],
    uncited: ['/due date'],
    unknown: ['/a'],
  })
})

test('a wire without seeds, a failing model and strategies are in meta', async () => {
  const asked = []
  const model = (dialect) => ({
    dialect,
    maxRetries: 0,
    model: 'small',
    open(request) {
      asked.push([request.model, request.seed, request.messages.at(-1).content])
      throw new Error('refused')
    },
  })
  const run = (dialect, strategies) =>
    runBundle({
      task: 't',
      k: 2,
      strategies,
      replicate: replicateByModel({ model: model(dialect), prompt: 'Judge.' }),
    }).result
  const { meta } = await run('anthropic')
  assert.equal(meta.model, 'small')
  assert.deepEqual(
    meta.per_replicate.map(({ model, seed_unsent }) => [model, seed_unsent]),
    [
      ['small', true],
      ['small', true],
    ],
  )
  asked.length = 0
  const strategies = [
    { label: 'a', prompt: 'Judge {{gone}}.' },
    { label: 'b', model: 'large' },
  ]
  const of = await run('openai-chat', strategies)
  assert.deepEqual(of.meta.strategies, strategies)
  assert.deepEqual(
    of.meta.per_replicate.map(({ strategy, model }) => [strategy, model]),
    [
      ['a', null],
      ['b', 'large'],
    ],
  )
  assert.match(of.replicates[0].quality.errors[0], /expected a member `gone`/)
  assert.deepEqual(asked, [['large', 23, 'Judge.']])
  assert.ok(of.meta.per_replicate.every((one) => !('seed_unsent' in one)))
  for (const strategies of [[{ label: '' }], [{ label: 'a' }, { label: 'a' }], [{}]]) {
    assert.throws(() => runBundle({ task: 't', replicate: says(1), strategies }), {
      code: 'options.invalid',
    })
  }
  // A model without a name gets the strategy's beside the rest of its request.
  const seen = []
  const custom = customModel(async function* ({ model, seed }) {
    seen.push([model, seed])
    yield { type: 'text', text: '1' }
  })
  const named = [{ label: 'x', model: 'm' }]
  const replicate = replicateByModel({ model: custom, prompt: 'Judge.' })
  const last = await runBundle({ task: 't', k: 1, replicate, strategies: named }).result
  assert.deepEqual([seen, last.meta.model], [[['m', 11]], 'm'])
})

test('a bundle tool hands out its recordings', async () => {
  const kept = []
  const record = (recording, args) => {
    kept.push([recording, args])
    throw new Error('ignored')
  }
  const tool = bundleTool({ name: 'judge', replicate: says({ a: 1 }), record })
  const first = await tool.execute({ q: 1 }, {})
  await tool.execute({ q: 2 }, {})
  assert.deepEqual(
    kept.map(([, args]) => args),
    [{ q: 1 }, { q: 2 }],
  )
  assert.deepEqual((await replayBundle(kept[0][0])).result, first)
  assert.throws(() => bundleTool({ name: 'x', replicate: says(1), record: true }), {
    code: 'options.invalid',
  })
})

test('an address of a schema alone fetches nothing and says so', async () => {
  const codes = async (own) => {
    const events = await all(runBundle({ task: 't', k: 1, replicate: says({ n: 1 }), ...own }))
    const [{ bundle }] = events.slice(-1)
    return [events[0].code, bundle.meta.schema.checked]
  }
  const schemaUri = 'https://example.com/a.json'
  assert.deepEqual(await codes({ schemaUri }), ['schema_not_loaded', false])
  const jsonSchema = { type: 'object' }
  assert.deepEqual(await codes({ schemaUri, jsonSchema }), ['schema_not_loaded', false])
  assert.deepEqual(await codes({ schemaUri, schema: jsonSchema }), [undefined, true])
  const standard = { '~standard': { version: 1, vendor: 'x', validate: (value) => ({ value }) } }
  assert.deepEqual(await codes({ schemaUri, schema: standard }), [undefined, true])
})

test('lints stream nits, keep to their budget, and never gate', async (t) => {
  // The budget is spent when everything else has happened.
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let told = false
  const lints = {
    quick: (input) => [{ message: `${input} is short` }],
    async *slow() {
      yield { message: 'first' }
      await new Promise(() => {})
    },
    hung: (_, { signal }) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve((told = true)))),
    broken: () => {
      throw new Error('no')
    },
    one: async () => ({ message: 'single', field: '/a', severity: 'warning' }),
    endless: function* () {
      for (;;) yield { message: 'again' }
    },
  }
  const running = runLints({ lints, input: 'it', budgetMs: 60 })
  const nits = []
  for await (const nit of running) {
    nits.push(nit)
    // One each of three, and as many as are kept of the endless one.
    if (nits.length === 103) setImmediate(() => t.mock.timers.tick(60))
  }
  const report = await running.result
  assert.deepEqual(report.nits, nits)
  assert.deepEqual(report.lints, {
    quick: 'done',
    slow: 'out_of_budget',
    hung: 'out_of_budget',
    broken: 'failed',
    one: 'done',
    endless: 'done',
  })
  assert.equal(report.errors.broken, 'no')
  assert.equal(told, true)
  const of = (name) => nits.filter(({ lint }) => lint === name).map(({ message }) => message)
  assert.deepEqual([of('quick'), of('slow'), of('one')], [['it is short'], ['first'], ['single']])
  assert.equal(of('endless').length, 100)
  assert.deepEqual(await runLints({ lints: {}, input: 1 }).result, {
    nits: [],
    lints: {},
    errors: {},
  })
  for (const wrong of [{ budgetMs: 0 }, { lints: { a: 1 } }, { signal: {} }]) {
    assert.throws(() => runLints({ lints: {}, input: 1, ...wrong }), { code: 'options.invalid' })
  }
})

test('lints: an endless one whose `return` never settles is done when it has found enough', async () => {
  const endless = () => ({
    [Symbol.asyncIterator]: () => ({
      next: async () => ({ value: { message: 'again' }, done: false }),
      return: () => new Promise(() => {}),
    }),
  })
  const { lints, nits } = await runLints({ lints: { endless }, input: 1, budgetMs: 2 ** 31 - 1 })
    .result
  assert.deepEqual([lints, nits.length], [{ endless: 'done' }, 100])
})

test('any values: no input panics, and distances keep to the unit interval', () => {
  const value = fc.jsonValue({ maxDepth: 4 })
  const property = fc.property(value, value, value, (a, b, c) => {
    const d = distance(a, b)
    assert.ok(d >= 0 && d <= 1)
    assert.equal(d, distance(b, a))
    assert.equal(distance(a, a), 0)
    const { pairwise_distance, valid_count } = summarizeReplicates([
      { data: a },
      { data: b },
      { data: c, quality: { valid: false } },
    ])
    assert.equal(valid_count, 2)
    assert.ok(Math.abs(pairwise_distance[0][1] - d) < 1e-12)
  })
  fc.assert(property, { numRuns: 500 })
})

test('the fast path of strict JSON refuses what the replacer refuses, and writes the same', () => {
  const any = fc.anything({ withDate: true, withSparseArray: true, withNullPrototype: true })
  const plain = (value) => outcomeOf(() => JSON.parse(strictJson(value)))
  fc.assert(
    fc.property(any, (value) => {
      // A member with `toJSON` anywhere takes the replacer for all of the value.
      const slowly = { value, slow: { toJSON: () => 1 } }
      const [fast, slow] = [plain({ value }), plain(slowly)]
      assert.deepEqual(fast.error ?? fast.value.value, slow.error ?? slow.value.value)
    }),
    { numRuns: 2000 },
  )
  const refused = [NaN, -Infinity, [, 1], [undefined], () => 1, Symbol('s'), 1n, { a: [NaN] }]
  for (const value of refused) assert.ok(plain({ value }).error, String(value))
})

function outcomeOf(work) {
  try {
    return { value: work() }
  } catch ({ code, message }) {
    return { error: { code, message } }
  }
}

test('seeds within another member keep what the host has there', async () => {
  for (const [make, outer] of [
    ['gemini', 'generationConfig'],
    ['ollama', 'options'],
  ]) {
    const sent = []
    const fetch = async (_, { body }) => {
      sent.push(JSON.parse(body)[outer])
      return new Response('', { status: 400 })
    }
    const own = { model: 'm', fetch, maxRetries: 0, body: { [outer]: { topK: 1 } } }
    const replicate = replicateByModel({ model: turnlock[make](own), prompt: 'Judge.' })
    const { meta } = await runBundle({ task: 't', k: 2, replicate }).result
    assert.deepEqual(
      sent.sort((a, b) => a.seed - b.seed),
      [
        { topK: 1, seed: 11 },
        { topK: 1, seed: 23 },
      ],
    )
    assert.ok(meta.per_replicate.every((one) => !('seed_unsent' in one)))
  }
})

test('a replicate that returns no data says what is expected', async () => {
  for (const wrong of [{ label: 'a' }, undefined, null, 7, { data: undefined }]) {
    const { replicates } = await runBundle({ task: 't', replicate: async () => wrong }).result
    const expected = 'json.not_serializable: expected `replicate` to return { data }'
    assert.deepEqual(replicates[0].quality.errors, [expected])
  }
})
