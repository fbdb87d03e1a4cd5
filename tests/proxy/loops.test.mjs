// Loops that clients hide or mean: results with lines that differ each time, and polls.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProxy } from 'turnlock/proxy'
import { LOOP, looped, WIRES } from './wires.mjs'

/** Asks once with a history; the provider repeats the call, and answers where it may not call. */
async function asked(wire, history, { policy, stream = false, mode = 'bound', call = LOOP } = {}) {
  let report
  let requests = 0
  const proxy = createProxy({
    upstream: 'https://provider.example/v1',
    mode,
    policy,
    authorize: () => ({ tenant: 'me' }),
    onReport: (own) => (report = own),
    fetch: async (_, init) => {
      requests += 1
      const body = JSON.parse(Buffer.from(init.body).toString())
      const isAnswer = WIRES[wire].none(body)
      const whole = WIRES[wire].whole(isAnswer ? { text: 'Fine.' } : { calls: [call] })
      return Response.json(whole)
    },
  })
  const body = JSON.stringify(WIRES[wire].body(history, { stream }))
  const url = `https://edge.example${WIRES[wire].path}`
  await (await proxy(new Request(url, { method: 'POST', body }))).text()
  return { report, requests }
}

/** What Codex writes before each output (`exec_command`). */
const codex = (n) =>
  `Chunk ID: ${n.toString(16).padStart(6, '0')}\nWall time: 0.0${n}12 seconds\nProcess exited with code 0\nOriginal token count: 3\nOutput:\nnotes.txt\n`

for (const wire of Object.keys(WIRES)) {
  test(`results of Codex, ${wire}: lines that differ each time are not compared`, async () => {
    for (const form of [
      codex,
      // As parts of a list.
      wire !== 'chat' ? (n) => [{ type: 'text', text: codex(n) }] : codex,
    ]) {
      const { report, requests } = await asked(wire, looped(2, form))
      assert.deepEqual([report.forced, requests], ['duplicate', 2])
      assert.equal(report.blocked[0].repeats, 2)
      // Another output is another result.
      const progress = await asked(
        wire,
        looped(2, (n) => `${codex(n)}${n} of 9\n`),
      )
      assert.deepEqual([progress.report.forced, progress.requests], [null, 1])
    }
  })

  test(`volatilePrefixes, ${wire}: a host names more lines`, async () => {
    const history = looped(2, (n) => `took ${n} ms\nnotes.txt`)
    assert.equal((await asked(wire, history)).report.forced, null)
    const policy = { volatilePrefixes: ['took '] }
    assert.equal((await asked(wire, history, { policy })).report.forced, 'duplicate')
    // A prefix is literal, and stands at the beginning of a line.
    const literal = { volatilePrefixes: ['took .* ms', 'notes'] }
    assert.equal((await asked(wire, history, { policy: literal })).report.forced, null)
  })

  test(`maxSameCall, ${wire}: blocks by count, whatever the results`, async () => {
    const history = looped(4, (n) => `at ${n}`)
    assert.equal((await asked(wire, history)).report.forced, null)
    const spent = await asked(wire, history, { policy: { maxSameCall: 4 } })
    assert.deepEqual([spent.report.forced, spent.requests], ['duplicate', 2])
    assert.equal((await asked(wire, history, { policy: { maxSameCall: 5 } })).report.forced, null)
  })

  // StartupHakk/OpenMonoAgent.ai#47 (2026-05-13): a detector of loops aborts an agent that polls a
  // background job, because its calls are equal. openai/codex#38495: chains of 30 polls for one run of
  // tests. Here, results decide, and equal calls alone are reported.
  test(`a poll of a background job, ${wire}: is reported as a loop from 8 calls in a row on, and runs`, async () => {
    for (const [times, expected] of [
      [1, undefined],
      [6, { times: 7, row: 7, isLoop: false }],
      [7, { times: 8, row: 8, isLoop: true }],
      [29, { times: 30, row: 30, isLoop: true }],
    ]) {
      const { report, requests } = await asked(
        wire,
        looped(times, (n) => `running, ${n} s`),
      )
      assert.deepEqual([report.blocked, report.forced, requests], [[], null, 1])
      assert.deepEqual(report.calls, ['ls'])
      const [repeat] = report.repeats
      assert.deepEqual(
        repeat && { times: repeat.times, row: repeat.row, isLoop: repeat.isLoop },
        expected,
      )
    }
  })

  test(`a poll between other calls, ${wire}: is no loop`, async () => {
    const polls = looped(20, (n) => `running, ${n} s`)
    const history = polls.flatMap((call, n) => [call, ['ls', { path: `/${n}` }, 'new']])
    const [repeat] = (await asked(wire, history)).report.repeats
    assert.deepEqual([repeat.times, repeat.row, repeat.isLoop], [21, 1, false])
  })

  test(`results that are too long to be compared by their lines, ${wire}: equal ones are equal`, async () => {
    const long = 'x'.repeat(300_000)
    assert.equal((await asked(wire, looped(2, long))).report.forced, 'duplicate')
    const other = looped(2, (n) => `${long}${n}`)
    assert.equal((await asked(wire, other)).report.forced, null)
  })
}

test('many long results of other calls are judged', async () => {
  const calls = Array.from({ length: 60 }, (_, n) => [
    'ls',
    { path: `/${n % 30}` },
    `${n % 30}`.repeat(100_000),
  ])
  const { report } = await asked('chat', [...calls, ...looped(2)])
  assert.deepEqual([report.forced, report.error], ['duplicate', undefined])
})

test('policy: wrong limits and prefixes are refused with their path', () => {
  const made = (policy) => () =>
    createProxy({ upstream: 'https://a.example', authorize: () => null, policy })
  assert.throws(made({ maxSameCall: 0 }), { code: 'options.invalid', message: /maxSameCall/ })
  for (const volatilePrefixes of ['x', [1], {}]) {
    assert.throws(made({ volatilePrefixes }), { message: /policy\.volatilePrefixes/ })
  }
})

// Servers that end a stream without `[DONE]` or `message_stop`: the answer was requested, and not read.
for (const wire of ['chat', 'messages']) {
  test(`a loop, ${wire}, in a stream without its last frame: the answer follows`, async () => {
    let requests = 0
    const proxy = createProxy({
      upstream: 'https://provider.example/v1',
      mode: 'bound',
      authorize: () => ({ tenant: 'me' }),
      fetch: async (_, init) => {
        requests += 1
        const body = JSON.parse(Buffer.from(init.body).toString())
        const entry = WIRES[wire].none(body) ? { text: ['Fine.'] } : { calls: [LOOP] }
        const events = WIRES[wire].stream(entry, { n: requests, body })
        const headers = { 'content-type': 'text/event-stream' }
        return new Response(events.slice(0, -1).join(''), { headers })
      },
    })
    const body = JSON.stringify(WIRES[wire].body(looped(2)))
    const url = `https://edge.example${WIRES[wire].path}`
    const text = await (await proxy(new Request(url, { method: 'POST', body }))).text()
    assert.match(text, /Fine\./)
    assert.equal(requests, 2)
  })
}
