// The action's script as a workflow runs it, with the built command in the place of `npx`.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import test from 'node:test'
import { root } from '../../scripts/setup.mjs'

const action = join(root, 'examples/github-action')
const user = { role: 'user', content: 'go' }
const orphan = { role: 'tool', tool_call_id: 'lost', content: '42' }
const round = (id) => [
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id, type: 'function', function: { name: 'search', arguments: '{"q":"a"}' } }],
  },
  { role: 'tool', tool_call_id: id, content: 'nothing' },
]

function workflow(t, files) {
  const at = mkdtempSync(join(tmpdir(), 'turnlock-action-'))
  t.after(() => rmSync(at, { recursive: true }))
  mkdirSync(join(at, 'bin'))
  mkdirSync(join(at, 'traces/of a day'), { recursive: true })
  const cli = join(root, 'pkg/dist/cli.js')
  const npx = `#!/usr/bin/env bash\n[[ "$1 $2" == "--yes turnlock@0.1" ]] || exit 9\nshift 2\nexec '${process.execPath}' '${cli}' "$@"\n`
  writeFileSync(join(at, 'bin/npx'), npx)
  chmodSync(join(at, 'bin/npx'), 0o755)
  for (const [name, messages] of Object.entries(files)) {
    writeFileSync(join(at, 'traces', name), JSON.stringify({ model: 'm', messages }, null, 1))
  }
  return (inputs) => {
    const env = {
      ...process.env,
      PATH: `${join(at, 'bin')}${delimiter}${process.env.PATH}`,
      ...{ FAIL_ON: 'refused', DIALECT: '', SARIF: '', VERSION: '0.1', ...inputs },
    }
    const { status, stdout, stderr } = spawnSync(join(action, 'run.sh'), {
      cwd: at,
      env,
      encoding: 'utf8',
    })
    const log = () => JSON.parse(readFileSync(join(at, inputs.SARIF), 'utf8'))
    return { status, rows: stdout.split('\n').filter(Boolean), stderr, log }
  }
}

test('a history that is rejected fails the job and stands beside its line', (t) => {
  const run = workflow(t, { 'good.json': [user], 'of a day/bad.json': [user, orphan] })
  const { status, rows, log } = run({ FILES: '  \ntraces/**/*.json\n', SARIF: 'found.sarif' })
  assert.deepEqual([status, rows.length], [1, 1])
  assert.match(
    rows[0],
    /^::error file=traces\/of a day\/bad\.json,line=10,title=TOOL_RESULT_ORPHAN::element 1: /,
  )
  const [{ results }] = log().runs
  assert.deepEqual(
    results.map(({ ruleId, level }) => [ruleId, level]),
    [['TOOL_RESULT_ORPHAN', 'error']],
  )
})

test('a loop fails the job where it is asked for', (t) => {
  const run = workflow(t, { 'loop.json': [user, ...['a', 'b', 'c'].flatMap(round)] })
  const FILES = 'traces/loop.json'
  assert.equal(run({ FILES }).status, 0)
  const { status, rows } = run({ FILES, FAIL_ON: 'loop,refused', DIALECT: 'openai-chat' })
  assert.equal(status, 1)
  assert.match(
    rows.at(-1),
    /^::error file=traces\/loop\.json,line=\d+,title=LOOP::search was called 3/,
  )
})

test('inputs are no code, and what cannot be read fails the job', (t) => {
  const run = workflow(t, { 'good.json': [user] })
  const { status, rows } = run({ FILES: 'traces/$(touch x).json\n"; echo traces/good.json' })
  assert.equal(status, 2)
  assert.equal(rows.filter((row) => row.includes('title=command.file')).length, 2)
  assert.equal(run({ FILES: 'traces/good.json', FAIL_ON: 'everything' }).status, 2)
})

test('each variable of the script is an input of the action, and no input stands in its code', () => {
  const text = readFileSync(join(action, 'action.yml'), 'utf8')
  const [, script] = text.split('run: ')
  assert.equal(script.trim(), '${GITHUB_ACTION_PATH}/run.sh')
  const inputs = [...text.matchAll(/^ {2}([a-z-]+):\n {4}description/gm)].map(([, name]) => name)
  const used = [...text.matchAll(/\$\{\{ inputs\.([a-z-]+) \}\}/g)].map(([, name]) => name)
  assert.deepEqual(used.toSorted(), inputs.toSorted())
  const code = readFileSync(join(action, 'run.sh'), 'utf8')
  for (const name of used) {
    assert.ok(code.includes(name.toUpperCase().replaceAll('-', '_')), name)
  }
})
