// A failure that a log does not name has to be found all over again.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { failuresIn, judge, report, summary } from '../../scripts/failures.mjs'
import { tap } from '../../scripts/steps.mjs'

/** What `node --test` really writes, as steps call it. */
function tapOf(source) {
  const folder = mkdtempSync(join(tmpdir(), 'turnlock-tap-'))
  const file = join(folder, 'some.test.mjs')
  writeFileSync(file, source)
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined }
  const { stdout } = spawnSync(process.execPath, [...tap, file], { encoding: 'utf8', env })
  rmSync(folder, { recursive: true })
  return stdout
}

const names = (output) => failuresIn(output).map(([first]) => first.trim())

test('TAP: every failure with its error, also in groups, and nothing that passed', () => {
  const output = tapOf(`
    import assert from 'node:assert/strict'
    import test, { describe } from 'node:test'
    test('fine', () => {})
    test('wrong', () => assert.equal(1, 2, 'one is two\\n\\nnot ok'))
    test('fine again', () => {})
    describe('group', () => {
      test('inner fine', () => {})
      test('inner wrong', () => { throw new Error('inner reason') })
    })
  `)
  const found = failuresIn(output).map((lines) => lines.join('\n'))
  assert.equal(found.length, 3, output)
  assert.match(found[0], /^not ok 2 - wrong\n[^]*one is two[^]*some\.test\.mjs/)
  assert.match(found[1], /^ +not ok 2 - inner wrong\n[^]*inner reason/)
  assert.match(found[2], /^not ok 4 - group\n/)
  assert.ok(!found.join('').includes('fine'))
})

test('TAP: an uncaught error fails its file, also after its test has ended', () => {
  const late = (work) => `
    import test from 'node:test'
    test('begins it', () => { ${work} })
    test('waits', () => new Promise((resolve) => setTimeout(resolve, 200)))
  `
  for (const work of [
    `setTimeout(() => { throw new Error('the reason') }, 50)`,
    `setTimeout(() => Promise.reject(new Error('the reason')), 50)`,
  ]) {
    const output = tapOf(late(work))
    assert.equal(judge(1, output).failed, 1, output)
    assert.match(names(output).join(), /^not ok \d+ - .*some\.test\.mjs$/)
    assert.match(report(output), /^Uncaught:\n.*the reason/m)
  }
  assert.deepEqual(names(tapOf(late(''))), [])
})

test('cargo: the panics and the names', () => {
  const output = [
    'running 2 tests',
    'test a ... ok',
    'test b ... FAILED',
    '',
    'failures:',
    '',
    '---- b stdout ----',
    "thread 'b' panicked at src/x.rs:1:1:",
    'the reason',
    '',
    '',
    'failures:',
    '    b',
    '',
    'test result: FAILED. 1 passed; 1 failed; 0 ignored',
    '',
    '     Running tests/other.rs',
    'test c ... ok',
  ].join('\n')
  const found = failuresIn(output).map((lines) => lines.join('\n'))
  assert.equal(found.length, 1)
  assert.match(found[0], /^failures:\n[^]*the reason[^]*failures:\n {4}b\n$/)
})

test('our players: each failure to its end', () => {
  const output =
    'not ok - one [node]\n  wanted\n      a\n\n  got b\nnot ok - two\ntests: 1 passed\n'
  assert.deepEqual(names(output), ['not ok - one [node]', 'not ok - two'])
  assert.match(failuresIn(output)[0].join('\n'), /got b$/)
})

test('a report is bounded, and names everything', () => {
  const failure = (n) => [`not ok ${n} - number ${n}`, ...Array(300).fill('  noise')].join('\n')
  const output = Array.from({ length: 50 }, (_, n) => failure(n)).join('\n')
  const lines = report(output).split('\n')
  assert.ok(lines.length < 800, `${lines.length} lines`)
  const panic = ['failures:', ...Array(900).fill('noise'), 'failures:', '    the_name', '']
  assert.match(report(`${panic.join('\n')}\ntest result: FAILED`), /^ {4}the_name\n/m)
  for (let n = 0; n < 50; n++) assert.ok(lines.includes(`not ok ${n} - number ${n}`), `${n}`)
  assert.match(report('it broke\nwithout a test'), /the last 2 lines:\nit broke\nwithout a test$/)
})

test('tests that did not run are counted and named, and fail a step that expects none', () => {
  const node = tapOf(`
    import test from 'node:test'
    test('fine', () => {})
    test('left out', { skip: 'no reason' }, () => {})
    test('later', { todo: true }, () => { throw new Error('not yet') })
  `)
  const cargo = [
    'running 3 tests',
    'test a ... ok',
    'test b ... ignored',
    'test c ... ignored, slow',
    '',
    'test result: ok. 1 passed; 0 failed; 2 ignored; 0 measured; 4 filtered out; finished in 0.1s',
  ].join('\n')
  for (const [output, names] of [
    [node, ['left out', 'later']],
    [cargo, ['test b', 'test c']],
  ]) {
    const counts = judge(0, output)
    assert.deepEqual(counts, { passed: 1, failed: 1, skipped: 2 }, output)
    assert.equal(summary('x', counts), 'FAILED  x: 1 passed, 1 failed, 2 skipped')
    for (const name of names)
      assert.match(report(output), new RegExp(`^Skipped:\n[^]*${name}`, 'm'))
    assert.deepEqual(judge(0, output, 2), { passed: 1, failed: 0, skipped: 2 })
  }
})

test('a step fails with its command, and when nothing ran', () => {
  assert.deepEqual(judge(0, 'done'), { passed: 1, failed: 0, skipped: 0 })
  assert.deepEqual(judge(1, 'done'), { passed: 0, failed: 1, skipped: 0 })
  assert.deepEqual(judge(0, '3 passed, 0 failed\n'), { passed: 3, failed: 0, skipped: 0 })
  assert.deepEqual(judge(1, '3 passed, 0 failed\n'), { passed: 3, failed: 1, skipped: 0 })
  assert.equal(judge(0, '0 passed, 0 failed\n').failed, 1)
  assert.equal(summary('x', judge(0, '3 passed, 0 failed\n')), 'ok  x: 3 passed, 0 failed')
})
