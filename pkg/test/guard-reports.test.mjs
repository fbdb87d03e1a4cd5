// The call guard on calls of public reports, rebuilt with other names and data.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createCallGuard } from 'turnlock'

/** Why a call is blocked, or what to do with it. */
const ruled = (verdict) => verdict.reason ?? verdict.action
/** Judges a call and, if it runs, settles it with what `execute` returns. */
function play(guard, name, args, execute = () => 'ok') {
  const verdict = guard.judge({ name, args })
  if (verdict.action === 'run') guard.settle({ name, args }, execute())
  return ruled(verdict)
}
const times = (count, work) => Array.from({ length: count }, (_, n) => work(n))

// PrimeIntellect-ai/prime-agent#1326 (2026-08-13): one command, 23 times in a row.
// earendil-works/pi#9637 (2026-09-15): a command without effect, 220 times.
test('guard: a command that is requested again and again runs once', () => {
  for (const [count, command] of [
    [23, 'grep -n schema config.json'],
    [220, 'echo noop'],
  ]) {
    const guard = createCallGuard()
    const all = times(count, () => play(guard, 'bash', { command }))
    assert.deepEqual(all, ['run', ...times(count - 1, () => 'duplicate')])
  }
})

// HKUDS/nanobot#4522 (2026-06-25) and NousResearch/hermes-agent#13144 (2026-04-20): a file is read
// again after each edit, and the result is new each time.
test('guard: with maxRepeats, a file that changes between reads is read again', () => {
  const tools = { read_file: { readOnly: true }, edit: {} }
  const guard = createCallGuard({ tools, maxRepeats: 2 })
  let version = 0
  const read = () => play(guard, 'read_file', { path: 'todo.md' }, () => `version ${version}`)
  const all = times(4, (n) => [read(), play(guard, 'edit', { line: n }, () => ++version)])
  assert.deepEqual(
    all.flat(),
    times(8, () => 'run'),
  )
  assert.deepEqual([read(), read(), read()], ['run', 'run', 'replay'])
})

// QwenLM/qwen-code#9492 (2026-08-19), fastclaw-ai/fastclaw#80 (2026-06-29): a list of tasks that
// others change is polled with the same arguments.
test('guard: a poll is a loop only while its result stays the same', () => {
  const tools = { task_list: { dedupe: 'allow' } }
  const guard = createCallGuard({ tools, maxRepeats: 3 })
  const poll = (result) => play(guard, 'task_list', {}, () => result)
  assert.deepEqual(['a', 'a', 'b', 'b', 'b', 'b'].map(poll), [
    'run',
    'run',
    'run',
    'run',
    'run',
    'duplicate',
  ])
})

// weave-os/router#1123 (2026-08-29): a terminal session of Codex is polled. Each result differs in its
// first lines alone, or also in its output.
test('guard: lines that always differ are not news, other lines are', () => {
  const tools = { write_stdin: { dedupe: 'allow' } }
  const poll = (output) => {
    const guard = createCallGuard({ tools, maxRepeats: 2 })
    const text = (n) => `Chunk ID: ${n}f\nWall time: ${n}.0 seconds\nOutput:\n${output(n)}`
    return times(5, (n) => play(guard, 'write_stdin', { chars: '' }, () => text(n)))
  }
  assert.deepEqual(
    poll((n) => `compiled ${n} of 90`),
    times(5, () => 'run'),
  )
  assert.deepEqual(
    poll(() => 'waiting'),
    ['run', 'run', ...times(3, () => 'duplicate')],
  )
})

// confident-ai/deepeval#3176 (2026-08-31): the keys of nested arguments come in another order.
// headroomlabs-ai/headroom#3453 (2026-09-06): one pattern is searched in several folders.
test('guard: the order of keys does not make another call, each argument does', () => {
  const guard = createCallGuard()
  assert.equal(play(guard, 'weather', '{"at":{"city":"Oslo","unit":"c"},"days":1}'), 'run')
  assert.equal(play(guard, 'weather', '{"days":1,"at":{"unit":"c","city":"Oslo"}}'), 'duplicate')
  const folders = ['src', 'tests', 'docs']
  const all = folders.map((path) => play(guard, 'grep', { pattern: 'timeout', path }))
  assert.deepEqual(all, ['run', 'run', 'run'])
})

// agno-agi/agno#10366 (2026-09-20): a retry of the loop gives the call a new id, and charges again.
// ComposioHQ/composio#3654 (2026-07-16): the same after a time-out whose request had arrived.
test('guard: a call with effects that failed is not run again under another id', () => {
  const guard = createCallGuard()
  const call = { name: 'charge_card', args: { operation: 7, amount: '100.00' } }
  assert.equal(guard.judge(call).action, 'run')
  guard.settle(call, { error: 'read timed out' })
  for (const id of ['call_3', 'call_5'])
    assert.equal(guard.judge({ ...call, id }).reason, 'duplicate')
})

// anthropics/anthropic-sdk-python#1749 (2026-07-11), lobehub/lobehub#19518 (2026-09-13): a call comes
// again after a reconnect, in the same process or after its restart.
test('guard: a call that comes again joins the one that runs, and is unknown after a restart', async () => {
  const tools = { shell: { dedupe: 'replay' }, read: { readOnly: true } }
  const guard = createCallGuard({ tools })
  const shell = { name: 'shell', args: { command: 'make' } }
  assert.equal(guard.judge(shell).action, 'run')
  const joined = guard.judge(shell)
  const state = JSON.parse(JSON.stringify(guard.state()))
  guard.settle(shell, 'built')
  assert.deepEqual([joined.action, await joined.outcome], ['replay', 'built'])

  const policy = { tools: { ...tools, shell: {} } }
  const restarted = createCallGuard({ ...policy, state }).judge(shell)
  assert.equal(restarted.action, 'block')
  assert.match(restarted.notice, /whether it finished is not known/)
})

// zengxinyueooo/ThoughtCoding#33 (2026-09-11): of 16 equal calls at once, one runs; what the user asks
// for again in a later message runs again.
test('guard: of equal calls at once one runs, and a later user turn begins anew', () => {
  const guard = createCallGuard()
  const judge = () => ruled(guard.judge({ name: 'deploy', args: { to: 'test' } }))
  assert.deepEqual(times(16, judge), ['run', ...times(15, () => 'duplicate')])
  guard.begin('user_turn')
  assert.deepEqual([judge(), judge()], ['run', 'duplicate'])
})

// Bike4Mind/bike4mind#758 (2026-07-21): the history is trimmed, so the model does not see what it read.
// macanderson/stella#359 (2026-07-23): a loop of three calls, of which none follows itself.
test('guard: repeats are found behind other calls and without the history', () => {
  const policy = { tools: { read: { readOnly: true }, edit: {}, check: {} } }
  let state
  const all = times(3, () => {
    // Each step has another process, and no message of an earlier one.
    const guard = createCallGuard({ ...policy, state })
    const step = ['read', 'edit', 'check'].map((name) => play(guard, name, { path: 'a' }))
    state = JSON.parse(JSON.stringify(guard.state()))
    return step
  })
  const again = (read) => [read, 'duplicate', 'duplicate']
  // What it read may have changed, so it is read once more.
  assert.deepEqual(all, [['run', 'run', 'run'], again('run'), again('replay')])
})

// OpenRouterTeam/typescript-agent#73 (2026-07-21): empty calls, and calls whose arguments are no JSON.
test('guard: calls without arguments are one call, and broken ones never run', () => {
  const guard = createCallGuard()
  const all = ['{}', '', {}, ' { } '].map((args) => play(guard, 'next', args))
  assert.deepEqual(all, ['run', 'duplicate', 'duplicate', 'duplicate'])
  const broken = times(3, () => play(guard, 'next', '{"page":'))
  assert.deepEqual(
    broken,
    times(3, () => 'invalid_arguments'),
  )
})
