// What doctor says to CI: of many files, in the formats that CI reads.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { diagnoseHistory } from 'turnlock'
import { expectValidHistory } from 'turnlock/testing'
import { turnlocks } from './commands.mjs'

const home = mkdtempSync(join(tmpdir(), 'turnlock-ci-'))
after(() => rmSync(home, { recursive: true }))
const user = { role: 'user', content: 'go' }
const orphan = { role: 'tool', tool_call_id: 'lost:1,\u202e%', content: '42' }
const round = (id, content) => [
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id, type: 'function', function: { name: 'poll', arguments: '{"job":1}' } }],
  },
  { role: 'tool', tool_call_id: id, content },
]
let calls = 0
const rounds = (...results) => results.flatMap((result) => round(`c${calls++}`, result))
const FILES = {
  'good.json': [user],
  'bad.json': [user, orphan],
  'loop.json': [user, ...rounds('wait', 'wait', 'wait')],
  'poll.json': [user, ...rounds('10 %', '50 %', 'done')],
  'two turns.json': [user, ...rounds('wait', 'wait'), user, ...rounds('wait')],
  'sub/deep/good.json': [user],
  'node_modules/left.json': [user, orphan],
}
for (const [name, messages] of Object.entries(FILES)) {
  mkdirSync(join(home, name, '..'), { recursive: true })
  writeFileSync(join(home, name), JSON.stringify({ model: 'm', messages }))
}
writeFileSync(join(home, 'sub/cut.json'), '{"messages":[')
writeFileSync(
  join(home, 'foreign.json'),
  JSON.stringify({ contents: [{ parts: [{ text: 'a' }] }] }),
)
const at = (...path) => join(home, ...path)
const rowsOf = ({ stdout }) => stdout.split('\n').filter(Boolean)

test('--fail-on decides what the command ends with', () => {
  const rows = [
    [0, 'good.json'],
    [1, 'bad.json'],
    [0, 'loop.json'],
    [1, 'bad.json', 'repaired'],
    [0, 'bad.json', 'loop'],
    [0, 'bad.json', 'none'],
    [1, 'loop.json', 'loop'],
    [1, 'loop.json', ' refused , loop'],
    [0, 'poll.json', 'loop,refused,repaired'],
    [0, 'two turns.json', 'loop'],
    [2, 'good.json', 'loops'],
    [2, 'good.json', ''],
  ]
  const runs = turnlocks(
    rows.map(([, name, kinds]) => [
      ...['doctor', at(name)],
      ...(kinds === undefined ? [] : ['--fail-on', kinds]),
    ]),
  )
  rows.forEach(([status, ...what], row) => assert.equal(runs[row].status, status, what.join(' ')))
})

test('names and patterns are files, each once; a pattern without a file is an error', () => {
  const rows = [
    [[at('*.json'), at('good.json')], 6, 1],
    [[at('**/good.json')], 2, 0],
    [[at('**/*.json'), '--fail-on', 'none'], 8, 2],
    [[at('sub/**'), '--fail-on', 'none'], 2, 2],
    [[at('node_modules/*.json'), at('goo?.json')], 2, 1],
  ]
  const runs = turnlocks(rows.map(([args]) => ['doctor', ...args, '--json']))
  rows.forEach(([args, count, status], row) => {
    const files = rowsOf(runs[row]).map((text) => JSON.parse(text).file)
    assert.deepEqual([new Set(files).size, runs[row].status], [count, status], args.join(' '))
  })
  const [none, twice] = turnlocks([
    ['doctor', at('*.yaml')],
    ['doctor', at('good.json'), at('bad.json'), '--diff'],
  ])
  assert.match(none.stderr, /^command\.file: .*no file matches this pattern/)
  assert.match(twice.stderr, /^command\.usage: --diff is for one file/)
})

test('a file that cannot be read takes nothing from the others', () => {
  const [said, machine] = turnlocks([
    ['doctor', at('sub/cut.json'), at('bad.json'), at('loop.json')],
    ['doctor', at('sub/cut.json'), at('bad.json'), '--json'],
  ])
  assert.equal(said.status, 2)
  assert.match(said.stdout, /cut\.json: json\.syntax: /)
  assert.match(
    said.stdout,
    /bad\.json: openai-chat ✕ rejects \(1\)\n {2}\[1\] TOOL_RESULT_ORPHAN: /,
  )
  assert.match(said.stdout, /LOOP: poll was called 3 times with \{"job":1\}/)
  assert.match(said.stdout, /^3 files: 1 accepted, 1 rejected, 1 not read, 1 loops$/m)
  const [cut, bad] = rowsOf(machine).map((text) => JSON.parse(text))
  assert.deepEqual([cut.error.code, cut.findings], ['json.syntax', undefined])
  assert.deepEqual([bad.dialect, bad.verdict, bad.error], ['openai-chat', 'rejects', undefined])
  assert.deepEqual(
    bad.findings.map(({ kind, code, index }) => [kind, code, index]),
    [
      ['refused', 'TOOL_RESULT_ORPHAN', 1],
      ['repaired', 'TOOL_RESULT_ORPHAN', 1],
    ],
  )
})

test('SARIF: a result for each finding, a notification for each file that is not read', () => {
  const args = [at('bad.json'), at('two turns.json'), at('loop.json'), at('sub/cut.json')]
  const [run] = turnlocks([['doctor', ...args, '--format', 'sarif', '--fail-on', 'loop']])
  assert.equal(run.status, 2)
  const log = JSON.parse(run.stdout)
  const [{ tool, invocations, results }] = log.runs
  assert.equal(log.version, '2.1.0')
  assert.deepEqual(
    results.map(({ ruleId, level }) => [ruleId, level]),
    [
      ['TOOL_RESULT_ORPHAN', 'warning'],
      ['LOOP', 'error'],
    ],
  )
  for (const { ruleId, ruleIndex, locations, message } of results) {
    assert.equal(tool.driver.rules[ruleIndex].id, ruleId)
    assert.ok(message.text.length > 10)
    const [{ physicalLocation }] = locations
    assert.equal(physicalLocation.region.startLine, 1)
    assert.ok(!/[\\ ]/.test(physicalLocation.artifactLocation.uri))
  }
  assert.deepEqual(results[0].locations[0].logicalLocations, [{ fullyQualifiedName: 'history[1]' }])
  const [{ executionSuccessful, toolExecutionNotifications: unread }] = invocations
  assert.deepEqual([executionSuccessful, unread.length], [false, 1])
  assert.equal(unread[0].descriptor.id, 'json.syntax')
})

test('annotations of a workflow end where they should, whatever files and ids say', () => {
  const name = at('a,b:c%d.json')
  writeFileSync(name, JSON.stringify({ model: 'm', messages: [user, orphan] }, null, 1))
  const [run] = turnlocks([['doctor', name, '--format', 'github']])
  const [row, ...more] = rowsOf(run)
  assert.deepEqual([run.status, more], [1, []])
  assert.match(row, /^::error file=[^,]*a%2Cb%3Ac%25d\.json,line=\d+,title=TOOL_RESULT_ORPHAN::/)
  assert.ok(!row.includes('\u202e'))
})

test('a provider accepts, converts or rejects', () => {
  const [own, foreign] = turnlocks([
    ['doctor', at('foreign.json'), '--json'],
    ['doctor', at('foreign.json'), '--dialect', 'openai-chat'],
  ])
  const { verdict, verdicts } = JSON.parse(own.stdout)
  assert.deepEqual(
    [own.status, verdict, verdicts.gemini, verdicts['openai-chat']],
    [0, 'accepts', 'accepts', 'converts'],
  )
  assert.equal(foreign.status, 0)
  assert.match(foreign.stdout, /^Turnlock converts it for openai-chat/m)
})

test('expectValidHistory and the matcher say what a provider rejects', () => {
  expectValidHistory([user], 'openai-chat')
  const violations = diagnoseHistory([user, orphan], { dialect: 'openai-chat' })
  assert.throws(
    () => expectValidHistory([user, orphan], 'openai-chat'),
    (error) => {
      assert.match(
        error.message,
        /^openai-chat rejects this history:\n {2}\[1\] TOOL_RESULT_ORPHAN: /,
      )
      assert.deepEqual(error.violations, violations)
      return true
    },
  )
  expectValidHistory([orphan, user], { dialect: 'openai-chat', partial: true })
  assert.throws(() => expectValidHistory([user], 'no'), { code: 'dialect.unknown' })
  assert.throws(() => expectValidHistory([user]), { code: 'options.invalid' })
})

test('vitest takes the matcher', () => {
  const tests = fileURLToPath(new URL('vitest/', import.meta.url))
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url)),
      'run',
      '--root',
      tests,
    ],
    { encoding: 'utf8', env: { ...process.env, NO_COLOR: '1' } },
  )
  assert.equal(status, 1, stdout + stderr)
  assert.match(stdout, /Tests {2}2 failed \| 1 passed/)
  assert.match(stdout + stderr, /openai-chat rejects this history:\n.*TOOL_RESULT_ORPHAN/)
  assert.match(stdout + stderr, /openai-chat accepts this history/)
})
