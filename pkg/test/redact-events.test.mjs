// What readers of events are shown: blocks of providers, texts that other events divide, texts that
// the core has cut, JSON that is a text, bundles.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createRedactor } from 'turnlock/redact'
import { MAIL, redact, SECRETS, texts, VALUE } from './secrets.mjs'

/** What a redactor shows of events. */
async function shown(redactor, events, before) {
  const all = []
  for await (const event of redactor.events(events.values(), before)) all.push(event)
  return all
}
const numbered = (events) => events.map((event, at) => ({ ...event, seq: at + 1 }))
const text = (chunk) => ({ type: 'text', phase: 'unified', chunk })
const reasoning = (chunk) => ({ type: 'reasoning', phase: 'unified', chunk })

test('the block of a provider is its text: no member of it is ours, at any depth', async () => {
  const names = ['code', 'id', 'status', 'model', 'type', 'usage', 'signature', 'phase']
  const members = Object.fromEntries(names.map((name, at) => [name, at % 2 ? MAIL : VALUE]))
  const block = { ...members, [MAIL]: 1, input: { ...members, password: 'xyz' }, list: [members] }
  const event = { type: 'provider_tool', name: 'code', id: 'ci_1', status: 'done', seq: 1, block }
  const [one] = await shown(redact, [event])
  const all = JSON.stringify(one)
  for (const secret of SECRETS) assert.ok(!all.includes(secret), `${secret} in ${all}`)
  assert.deepEqual([one.id, one.status, one.name, one.seq], ['ci_1', 'done', 'code', 1])
  assert.equal(one.block.input.password, '[redacted:field]')
})

const OWN = 'hunter2-registered-value'
const KEY = `ghp_${'aB3dE5gH7jK9mN2pQ4sT6vW8xYz1Cf0LaB3d'}`
const registered = createRedactor({ values: [OWN] })
const WHOLE = `Key ${OWN}, mail ada.lovelace@example.com, ${KEY} 😀 end. `

test('reasoning between any two parts of a text changes nothing, nor text in reasoning', async () => {
  const expected = registered.redact(WHOLE)
  for (let at = 0; at <= WHOLE.length; at++) {
    for (const [one, other] of [
      [text, reasoning],
      [reasoning, text],
    ]) {
      const between = [other('hm '), { type: 'nothing' }].slice(0, 1)
      const parts = [one(WHOLE.slice(0, at)), ...between, one(WHOLE.slice(at)), one(' ')]
      const events = numbered(parts)
      const all = await shown(registered, events)
      const said = all.filter(({ type }) => type === events[0].type)
      assert.equal(said.map(({ chunk }) => chunk).join(''), `${expected} `, String(at))
      assert.deepEqual(
        all.map(({ seq }) => seq),
        events.map(({ seq }) => seq),
      )
    }
  }
})

/** Masks have words in them, which halves may have too. */
const MASK = /\[redacted:\w+\]/g
const hasRest = (said, rest) => rest.length > 1 && said.includes(rest)
const BETWEEN = {
  'the arguments of a call': [{ type: 'tool_arguments', index: 0, name: 't', bytes: 256 }],
  'a call': [{ type: 'tool_calls', toolCalls: [{ id: 'c', name: 't', args: {} }] }],
  progress: [{ type: 'tool_progress', toolCallId: 'c', name: 't', data: 1 }],
  'a phase': [{ type: 'phase_end' }, { type: 'phase_start' }],
  'a pause': [
    { type: 'paused', resume: {} },
    { type: 'phase_start', resumed: true },
  ],
  'much reasoning': Array.from({ length: 40 }, () => reasoning('hm ')),
}
for (const [name, between] of Object.entries(BETWEEN)) {
  test(`${name} between two halves of a secret shows at most its beginning`, async () => {
    for (const [secret, least] of [
      [OWN, 4],
      [KEY, 12],
    ]) {
      for (let at = 1; at < secret.length; at++) {
        const halves = [
          text(`Key ${secret.slice(0, at)}`),
          ...between,
          text(`${secret.slice(at)}. `),
        ]
        const said = texts(await shown(registered, numbered(halves))).replaceAll(MASK, '*')
        assert.ok(!said.includes(secret.slice(0, least)), said)
        assert.ok(!hasRest(said, secret.slice(Math.max(at, 6))), `${at}: ${said}`)
        assert.ok(said.startsWith('Key ') && said.endsWith('. '), said)
      }
    }
    for (let at = 1; at < MAIL.length; at++) {
      const halves = [text(`Mail ${MAIL.slice(0, at)}`), ...between, text(`${MAIL.slice(at)}. `)]
      const said = texts(await shown(registered, numbered(halves))).replaceAll(MASK, '*')
      assert.ok(!said.includes('@'), said)
      assert.ok(!hasRest(said, MAIL.slice(Math.max(at, 3))), `${at}: ${said}`)
    }
  })
}

test('a text goes on behind the events that a reader has, wherever it begins', async () => {
  const parts = Array.from(WHOLE, (one, at) => (at % 5 === 4 ? reasoning(one) : text(one)))
  const middle = [
    { type: 'tool_calls', toolCalls: [] },
    { type: 'paused', resume: {} },
  ]
  const events = numbered([...parts.slice(0, 20), ...middle, ...parts.slice(20)])
  const all = await shown(registered, events)
  for (let at = 0; at <= events.length; at++) {
    const rest = await shown(registered, events.slice(at), events.slice(0, at))
    assert.deepEqual(rest, all.slice(at))
  }
})

test('what is held back of one text holds eight events up, not more', async () => {
  let asked = 0
  const events = (function* () {
    yield text('a word')
    for (;;) {
      asked++
      yield reasoning('hm ')
    }
  })()
  const read = registered.events(events)
  assert.equal((await read.next()).value.chunk, 'a word')
  assert.equal(asked, 8)
  await read.return()
})

const results = (result) => [{ type: 'tool_results', toolResults: [{ toolCallId: 'c', result }] }]
const MARKS = [
  '… [cut: the first 1024 of 9000 bytes]',
  '… [cut: 9000 bytes]',
  '… (70000 bytes)',
  '… (300 characters)',
  '…',
]
test('before the mark of a cut nothing is shown that may be the beginning of a secret', async () => {
  const card = '4111 1111 1111 1111'
  for (const mark of MARKS) {
    for (const secret of [OWN, KEY, 'ada.lovelace@example.com', card]) {
      // A mark that a text may have itself stands behind words, which stay.
      if (mark === '…' && secret !== OWN && secret !== KEY) continue
      for (let at = 4; at < secret.length; at++) {
        // A rule may begin some 60 characters before its anchor.
        const cut = `some words ${'. '.repeat(40)}${secret.slice(0, at)}${mark}`
        for (const value of [cut, { rows: [cut] }]) {
          const all = JSON.stringify(await shown(registered, results(value)))
          const least = secret === KEY ? 12 : 4
          assert.ok(!all.includes(secret.slice(0, least)), all)
          assert.ok(all.includes('some words ') && all.includes(mark), all)
        }
      }
    }
  }
})

test('words before an ellipsis stay', () => {
  for (const prose of [
    'and so on… The password is on the paper… hunt… user… keys like sk-… and ghp_… or Bearer tokens…',
    '{"a": "b…"} name…, 4111…',
  ]) {
    assert.equal(
      createRedactor({ values: ['hunters-value'] }).redact(prose.replace('hunt…', '')),
      prose.replace('hunt…', ''),
    )
  }
})

test('names, summaries and queries that are cut without a mark', async () => {
  for (let at = 4; at < OWN.length; at++) {
    const half = OWN.slice(0, at)
    const about = { tool_name: `x ${half}`, detail: half, reason: `because ${half}…` }
    const events = [
      { type: 'strategist_tool_request', tool_calls: [about], rejected: [about], notes: [about] },
      {
        type: 'strategist_tool_result',
        result_summary: `object of 2 members (${half}, ${half}), 9 bytes`,
      },
      { type: 'step_started', id: '2', query: `more on ${half} in 2024 and ${half}` },
      { type: 'complete', text: `Key ${half}`, fullContent: `Key ${half}` },
      { type: 'tool_results', toolResults: [{ error: { code: 'x', message: `no ${half}` } }] },
    ]
    const all = JSON.stringify(await shown(registered, events))
    assert.ok(!all.includes(OWN.slice(0, 4)), all)
    assert.match(all, /object of 2 members \(\[redacted:value\], \[redacted:value\]\), 9 bytes/)
    assert.match(all, /more on \[redacted:value\] in 2024/)
  }
})

const answer = { user: { ssn: '987-65-4321', note: { of: ['nobody', 1] }, name: 'Ada' }, pin: 4711 }
const HIDDEN = ['987-65', '65-4321', 'nobody', '4711']
const byField = createRedactor({ fields: ['/user/ssn', 'user.note', '**.pin'] })
const json = JSON.stringify(answer)
const TEXTS = {
  json,
  indented: JSON.stringify(answer, null, 2),
  fenced: `Here:\n\`\`\`json\n${json}\n\`\`\`\nDone.`,
  'behind a label': `find: ${json}\n\nlist: ${json}, ${json}`,
  'behind what only begins as JSON': `{"a": [ "b\n{c: 1} ${json}`,
  cut: `${json.slice(0, -8)}… [cut: the first 90 of 99 bytes]`,
}
for (const [name, given] of Object.entries(TEXTS)) {
  test(`fields are hidden in JSON that is a text: ${name}`, async () => {
    const masked = byField.redact(given)
    for (const secret of HIDDEN) assert.ok(!masked.includes(secret), masked)
    assert.ok(masked.includes('"Ada"'), masked)
    for (let one = 0; one <= given.length; one++) {
      const parts = [given.slice(0, one), given.slice(one)]
      assert.equal(parts.map(byField.feed).join('') + byField.end(), masked)
    }
    const events = [
      ...Array.from(given, text),
      { type: 'tool_results', toolResults: [{ result: given }] },
      { type: 'complete', text: given, fullContent: given },
    ]
    const all = await shown(byField, events)
    for (const secret of HIDDEN) assert.ok(!JSON.stringify(all).includes(secret))
    assert.ok(!HIDDEN.some((secret) => texts(all).includes(secret)), texts(all))
  })
}

test('what is hidden in a text is the JSON that value gives', () => {
  assert.deepEqual(JSON.parse(byField.redact(json)), byField.value(answer))
  const list = [answer, { pin: { a: ['"}'] }, rest: 'x' }, []]
  assert.deepEqual(JSON.parse(byField.redact(JSON.stringify(list))), byField.value(list))
})

test('numbers behind the name of a secret are hidden in JSON that is a text', () => {
  const { redact } = createRedactor()
  assert.equal(
    redact('{"password": 12345678, "n": 12345678}'),
    '{"password": "[redacted:secret]", "n": 12345678}',
  )
  assert.equal(redact('{"pass": 12345, "fail": 2}'), '{"pass": 12345, "fail": 2}')
})

test('a bundle hides what stands at the pointer of a field, and names of fields', async () => {
  const redactor = createRedactor({ fields: ['/user/ssn', 'pin'] })
  const bundle = {
    summary: {
      consensus: { '/user/ssn': 987654321, '/pin': 4711, '/n': 1, [`/${MAIL}`]: 'a' },
      support: { [`/${MAIL}`]: { count: 2, of: 3, method: 'majority' } },
      disagreements: [
        { field: '/password', values: [{ value: 'opensesame', replicates: [0] }] },
        { field: '/user/ssn', values: [{ value: 987654321, replicates: [1] }] },
        { field: '/n', values: [{ value: 5, replicates: [2] }] },
      ],
      distributions: {
        '/pin': { n: 2, mean: 4711, min: 4711, max: 4711, median: 4711 },
        '/card': { n: 2, mean: 4111111111111112.5, min: 4111111111111111, max: 4111111111111129 },
        '/n': { n: 2, mean: 5, min: 5, max: 5, median: 5 },
        [`/${MAIL}`]: { n: 2, values: [{ value: 'a', count: 2 }] },
      },
    },
    replicates: [{ id: 'r3', delta: [{ op: 'replace', path: '/user/ssn', value: '987654321' }] }],
  }
  const [{ bundle: one }] = await shown(redactor, [{ type: 'bundle_ready', bundle }])
  const all = JSON.stringify(one)
  for (const secret of [MAIL, 'opensesame', '987654321', '4711', '41111111']) {
    assert.ok(!all.includes(secret), `${secret} in ${all}`)
  }
  assert.deepEqual(one.summary.distributions['/n'], bundle.summary.distributions['/n'])
  assert.deepEqual(one.summary.disagreements[2], bundle.summary.disagreements[2])
  assert.equal(one.summary.consensus['/n'], 1)
  assert.equal(one.summary.distributions['/card'].n, 2)
})

test('what a bundle tells of a field is shown as deep as a value', async () => {
  const deep = (levels) => JSON.parse('['.repeat(levels) + '"x"' + ']'.repeat(levels))
  const summary = (levels) => [
    { type: 'bundle_ready', bundle: { summary: { consensus: { '/a': deep(levels) } } } },
  ]
  assert.deepEqual(await shown(registered, summary(256)), summary(256))
  const [{ bundle }] = await shown(registered, summary(257))
  assert.ok(JSON.stringify(bundle).includes('[redacted:field]'))
})

test('ids of a chain’s steps, and names in notices, are hidden where they stand', async () => {
  const name = `x ${OWN}`
  const plain = name.replace(' ', '_')
  const [started, stopped, refused] = await shown(registered, [
    { type: 'step_started', id: MAIL, query: 'q' },
    { type: 'chain_stopped', finished: [MAIL] },
    {
      type: 'refused',
      toolCalls: [{ id: 'c', name, args: {} }],
      notice: `The call to ${plain} did not run`,
    },
  ])
  assert.deepEqual([started.id, stopped.finished], ['[redacted:email]', ['[redacted:email]']])
  assert.equal(refused.notice, 'The call to x [redacted:value] did not run')
})

test('an inference that is made again begins anew', async () => {
  const resumed = { type: 'phase_start', resumed: true }
  const [half, rest] = [OWN.slice(0, 9), OWN.slice(9)]
  const events = [text(`Key ${half}`), { ...resumed, voidFrom: 1 }, text(`${rest}. `)]
  assert.ok(texts(await shown(registered, events)).endsWith(`${rest}. `))
  const goesOn = [text(`Key ${half}`), { ...resumed, voidFrom: undefined }, text(`${rest}. `)]
  assert.ok(!texts(await shown(registered, goesOn)).includes(rest.slice(1)))
})

test('nothing comes behind `return`, also of an iterator that has none', async () => {
  const events = registered.events({ next: async () => ({ done: false, value: text('a b ') }) })
  assert.equal((await events.next()).value.chunk, 'a b ')
  assert.deepEqual(await events.return(), { done: true, value: undefined })
  assert.deepEqual(await events.next(), { done: true, value: undefined })
})

test('an id is shown as it is, but for that of a chain’s step', async () => {
  const id = '4111111111111111'
  const [one, step] = await shown(registered, [
    { type: 'provider_tool', id, name: 'code' },
    { type: 'step_started', id },
  ])
  assert.deepEqual([one.id, step.id], [id, '[redacted:card]'])
})

test('errors: their details are values, their messages may be cut', async () => {
  const error = { code: 'x', message: `no ${OWN.slice(0, 9)}`, details: { password: 'xyz', n: 1 } }
  const marked = { code: 'y', message: `no ${OWN.slice(0, 9)}… [cut: 9000 bytes]` }
  const events = [error, marked, null, MAIL].map((error) => ({ type: 'a', error }))
  assert.deepEqual(await shown(registered, events), [
    {
      type: 'a',
      error: {
        code: 'x',
        message: 'no [redacted:value]',
        details: { password: '[redacted:field]', n: 1 },
      },
    },
    { type: 'a', error: { code: 'y', message: '… [cut: 9000 bytes]' } },
    { type: 'a', error: null },
    { type: 'a', error: '[redacted:email]' },
  ])
})

test('names in notices: those that are shown stay as the core writes them, long ones are cut', async () => {
  const notice = (name) => shown(registered, [refused(name)]).then(([one]) => one.notice)
  const plain = (name) => name.replaceAll(/[^\w.:-]/g, '_').slice(0, 64)
  const refused = (name) => ({
    type: 'refused',
    notice: `The call to ${plain(name)} did not run`,
    toolCalls: [{ id: 'c', name, args: {} }, { id: 'd' }],
  })
  assert.equal(await notice('x y'), 'The call to x_y did not run')
  const long = `${'x'.repeat(20)} ${OWN} ${'y'.repeat(40)}`
  assert.match(await notice(long), /^The call to x{20} \[redacted:value\] y{40} did not run$/)
})

test('a result keeps its shape', async () => {
  const result = [1, null, { a: [2, MAIL, null] }, []]
  const [one] = await shown(registered, results(result))
  assert.deepEqual(one.toolResults[0].result, [1, null, { a: [2, '[redacted:email]', null] }, []])
})

/** What a bundle tells of the field at a pointer. */
const told = (pointer) => ({
  consensus: { [pointer]: 'opensesame' },
  support: { [pointer]: { count: 2, of: 3, method: 'majority' } },
  disagreements: [
    { field: pointer, values: [{ value: 'opensesame', replicates: [0, 2] }, null] },
    null,
    `by ${MAIL}`,
  ],
  distributions: { [pointer]: { n: 2, values: [{ value: 'opensesame', count: 2 }] } },
})
for (const [pointer, as] of [
  ['/password', '/password'],
  ['/password/of/ada', '/password'],
  ['/user/ssn', '/user/ssn'],
  ['/user/ssn/area', '/user/ssn'],
  ['/list/0/pin', '/list/0/pin'],
]) {
  test(`what a bundle tells of the field at ${pointer}`, async () => {
    const redactor = createRedactor({ fields: ['/user/ssn', '/list/*/pin'] })
    const FIELD = '[redacted:field]'
    const expected = {
      consensus: { [as]: FIELD },
      support: { [as]: { count: 2, of: 3, method: 'majority' } },
      disagreements: [
        { field: as, values: [{ value: FIELD, replicates: [0, 2] }, null] },
        null,
        'by [redacted:email]',
      ],
      distributions: { [as]: FIELD },
    }
    const replicates = [
      { id: 'r1', delta: [{ op: 'replace', path: pointer, value: 'opensesame' }] },
    ]
    const shownAs = [{ id: 'r1', delta: [{ op: 'replace', path: as, value: FIELD }] }]
    const bundle = { summary: told(pointer), replicates }
    const [ready, called] = await shown(redactor, [
      { type: 'bundle_ready', bundle },
      ...results(bundle),
    ])
    assert.deepEqual(ready.bundle, { summary: expected, replicates: shownAs })
    // In a result, a member named like a secret is hidden, whatever it is.
    if (pointer === '/password') expected.support = { '/password': FIELD }
    const { result } = called.toolResults[0]
    assert.deepEqual(result, { summary: expected, replicates: shownAs })
  })
}

const BODY = Array.from({ length: 5 }, (_, at) =>
  `MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw${at}`.repeat(2).slice(0, 64),
)
const PEM = ['-----BEGIN', 'PRIVATE KEY-----'].join(' ')
const END = ['-----END', 'PRIVATE KEY-----'].join(' ')
test('a call within a private key shows nothing of the rest', async () => {
  const [call] = BETWEEN['a call']
  const key = [PEM, ...BODY, END].join('\n')
  for (let at = PEM.length + 8; at < key.length - END.length; at++) {
    const halves = [text(`Key: ${key.slice(0, at)}`), call, text(`${key.slice(at)}\nDone. `)]
    const said = texts(await shown(registered, numbered(halves)))
    assert.ok(!/[A-Za-z0-9+/]{16}/.test(said.replaceAll(MASK, '')), said)
    assert.ok(said.startsWith('Key: [redacted:secret]') && said.endsWith('\nDone. '), said)
  }
})

test('a call within a registered value of which characters are escaped shows nothing of the rest', async () => {
  const [call] = BETWEEN['a call']
  const written = ['h', '%75nter', '2-', '\\u0072egi', '&#115;tered-v', '%61lue']
  for (let at = 1; at < written.length; at++) {
    const [one, other] = [written.slice(0, at), written.slice(at)].map((all) => all.join(''))
    const halves = [text(`Key ${one}`), call, text(`${other}. `)]
    const said = texts(await shown(registered, numbered(halves))).replaceAll(MASK, '*')
    assert.ok(!said.includes(other), said)
    // Four characters of a value are enough to know it where it is cut.
    assert.ok(at === 1 || said.startsWith('Key *'), said)
    assert.ok(said.startsWith('Key ') && said.endsWith('. '), said)
  }
})

test('members of events: ours are shown, those of a model or a tool are values, others are texts', async () => {
  const [one] = await shown(registered, [{ type: 'x', note: MAIL, n: 1, deep: [{ note: MAIL }] }])
  const mask = '[redacted:email]'
  assert.deepEqual(one, { type: 'x', note: mask, n: 1, deep: [{ note: mask }] })
  const own =
    'type phase requestId projectId conversationId toolBatchId seq id toolCallId status signature ' +
    'blockedSignatures repeats code usage totalUsage model'
  const all = Object.fromEntries(own.split(' ').map((name) => [name, MAIL]))
  const event = { type: 'x', in: { ...all, list: [{ ...all, id: [MAIL] }] } }
  assert.deepEqual(await shown(registered, [event]), [event])
  const values = Object.fromEntries(own.split(' ').map((name) => [name, mask]))
  const theirs = 'args params result results data block object plan values inputs'
  for (const name of theirs.split(' ')) {
    const given = { type: 'x', [name]: { ...all, password: 'xyz' } }
    assert.deepEqual((await shown(registered, [given]))[0][name], {
      ...values,
      password: '[redacted:field]',
    })
  }
})

test('texts that may be cut at their end are read so, and others are whole', async () => {
  const half = OWN.slice(0, 12)
  const read = async (name) =>
    (await shown(registered, [{ type: 'x', [name]: `a ${half}` }]))[0][name]
  for (const name of ['tool_name', 'detail', 'message', 'text', 'fullContent', 'query'])
    assert.equal(await read(name), 'a [redacted:value]', name)
  assert.equal(await read('result_summary'), 'a [redacted:value]')
  for (const name of ['reason', 'notice', 'chunk'])
    assert.equal(await read(name), `a ${half}`, name)
})

test('what a bundle has in it, as an event and as what a tool gave', async () => {
  const redactor = createRedactor({ fields: ['/user/ssn'] })
  const FIELD = '[redacted:field]'
  const bundle = {
    consensus: { '/user/ssn': 'abc', '': { user: { ssn: 'abc' } }, '/n': { mean: 1, note: MAIL } },
    disagreements: [{ field: '/user/ssn', values: [[{ value: 'abc' }]] }, { field: 5 }, 'x'],
    delta: [{ path: '/user/ssn', value: 'abc', values: { value: 'abc', note: MAIL } }],
    distributions: { '/user/ssn': { mean: 5, n: 2 }, '/n': { mean: 5, n: 2 }, '/m': { n: 1 } },
  }
  const hidden = {
    consensus: {
      '/user/ssn': FIELD,
      '': { user: { ssn: FIELD } },
      '/n': { mean: 1, note: '[redacted:email]' },
    },
    disagreements: [{ field: '/user/ssn', values: [[{ value: FIELD }]] }, { field: '5' }, 'x'],
    delta: [
      {
        path: '/user/ssn',
        value: FIELD,
        values: { value: FIELD, note: '[redacted:email]' },
      },
    ],
    distributions: {
      '/user/ssn': { mean: FIELD, n: 2 },
      '/n': { mean: 5, n: 2 },
      '/m': { n: 1 },
    },
  }
  const [{ bundle: ready }] = await shown(redactor, [{ type: 'x', bundle }])
  assert.deepEqual(ready, hidden)
  const [{ result }] = await shown(redactor, [{ type: 'x', result: bundle }])
  assert.deepEqual(result, {
    ...hidden,
    disagreements: [hidden.disagreements[0], { field: 5 }, 'x'],
  })
})

test('ids are shown, but for those of steps, which a model gives', async () => {
  const [step, no, number] = await shown(registered, [
    { type: 'step', id: MAIL },
    { type: 'a step', id: MAIL },
    { type: 'step_done', id: 5 },
  ])
  assert.deepEqual([step.id, no.id, number.id], ['[redacted:email]', MAIL, 5])
})

test('an answer is read behind what was said before it, if that is known', async () => {
  const [whole, other, none] = await shown(registered, [
    { type: 'complete', text: `${OWN.slice(9)}. `, fullContent: `Key ${OWN}. ` },
    { type: 'complete', text: `${OWN.slice(9)}. `, fullContent: `Key ${OWN}` },
    { type: 'complete', text: `${OWN.slice(9)}. `, fullContent: 5 },
  ])
  const rest = `${OWN.slice(9)}. `
  assert.deepEqual(
    [whole, other, none].map(({ text }) => text),
    ['. ', rest, rest],
  )
  assert.deepEqual([whole.fullContent, none.fullContent], ['Key [redacted:value]. ', 5])
})

test('what only looks like a bundle is a value', async () => {
  const redactor = createRedactor({ fields: ['/user/ssn'] })
  const result = {
    consensus: { 'user.ssn': 'abc' },
    others: { '/user/ssn': 'abc' },
    disagreements: ['user.ssn', ['/user/ssn'], 5].map((field) => ({
      field,
      values: [{ value: 'abc' }],
    })),
  }
  assert.deepEqual(await shown(redactor, results(result)), results(result))
})

test('what else an item has that names its field is a member of an event', async () => {
  const half = OWN.slice(0, 12)
  const disagreements = [{ field: '/n', detail: `a ${half}`, note: `a ${half}` }]
  const [one] = await shown(registered, [{ type: 'x', disagreements }])
  assert.deepEqual(one.disagreements, [
    { field: '/n', detail: 'a [redacted:value]', note: `a ${half}` },
  ])
})

test('only what a tool reports goes on from event to event', async () => {
  const half = OWN.slice(0, 12)
  const events = [
    { type: 'x', data: `a ${half}` },
    { type: 'tool_progress', toolCallId: 'c', note: `a ${half}` },
  ]
  assert.deepEqual(await shown(registered, events), events)
  const [report] = await shown(registered, [{ ...events[1], data: `a ${half}` }])
  assert.equal(report.data, 'a [redacted:value]')
})

test('an answer that is no text, and calls without a name or with one that is shown', async () => {
  const events = [
    { type: 'complete', text: 5, fullContent: 'a 5' },
    { type: 'refused', toolCalls: [{ id: 'd' }, { name: 'fine' }], notice: 'Stop: So fine' },
    { type: 'refused', toolResults: [{ name: 7 }], notice: 'Stop: So fine' },
  ]
  assert.deepEqual(await shown(registered, events), events)
})

test('a text that waits does not divide the reasoning behind it', async () => {
  const hiding = createRedactor({ fields: ['b'] })
  const before = ['{"n": "x ', ...Array(8).fill('y ')].map(reasoning)
  const events = [text('wor'), ...before, reasoning('","a":{"b":5}} '), text('d. ')]
  const said = (await shown(hiding, events)).map(({ chunk }) => chunk).join('')
  assert.equal(said, events.map(({ chunk }) => chunk).join(''))
})

test('an error that is thrown in ends the events, and comes back', async () => {
  const done = { done: true, value: undefined }
  const returned = []
  const events = registered.events({
    next: async () => ({ done: false, value: text('a b ') }),
    return: async () => (returned.push(1), done),
  })
  await events.next()
  const error = new Error('no')
  await assert.rejects(events.throw(error), error)
  assert.deepEqual([await events.next(), returned], [done, [1]])
})
