// What all commands share: help, errors with a code, colours, progress, what is piped.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { turnlocks } from './commands.mjs'

const folder = new URL('../', import.meta.url)
const { bin, version } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'))
const path = fileURLToPath(new URL(bin.turnlock, folder))
const { NO_COLOR, FORCE_COLOR, ...plain } = process.env
const turnlock = (args, { env = {}, input = '', node = [] } = {}) =>
  spawnSync(process.execPath, [...node, path, ...args], {
    encoding: 'utf8',
    input,
    env: { ...plain, ...env },
  })
const json = (...args) => JSON.parse(turnlock([...args, '--json']).stdout)
const HISTORY = JSON.stringify([{ role: 'user', content: 'go' }])

test('help says what each command takes; nothing of it is wrong usage', () => {
  const { commands } = json('help')
  assert.ok(commands.length >= 5)
  const all = turnlock(['help']).stdout
  assert.equal(turnlock(['--help']).stdout, all)
  const ways = commands.map(({ name }) => [
    ['help', name],
    [name, '--help'],
    [name, '-h'],
    [name, '--help', '--json'],
  ])
  const runs = turnlocks(ways.flat())
  for (const { name, usage, options } of commands) {
    assert.match(all, new RegExp(`^  ${name} +\\S`, 'm'))
    assert.ok(usage.startsWith(`turnlock ${name} `))
    const [{ stdout, status, stderr }, ...others] = runs.splice(0, ways[0].length)
    assert.deepEqual([status, stderr], [0, ''])
    for (const option of Object.keys(options)) assert.ok(stdout.includes(`\n  --${option} `))
    assert.ok(Object.hasOwn(options, 'json'), name)
    assert.ok(stdout.split('\n').every((line) => line.length <= 100))
    const machine = others.pop()
    for (const other of others) assert.equal(other.stdout, stdout)
    assert.deepEqual(JSON.parse(machine.stdout).options, options)
  }
  assert.equal(turnlock(['--version']).stdout, `${version}\n`)
  assert.deepEqual(json('-v'), { version })
})

test('wrong input ends with 2, an error with its code, and nothing on standard output', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.after(() => taken.close())
  await once(taken, 'listening')
  const port = String(taken.address().port)
  const upstream = ['--upstream', 'http://127.0.0.1:1/v1']
  const rows = [
    ['command.usage'],
    ['command.usage', 'constructor'],
    ['command.usage', 'help', 'nothing'],
    ['command.usage', 'doctor'],
    ['command.usage', 'replay', 'a', 'b'],
    ['command.usage', 'doctor', 'a', '--nothing'],
    ['command.usage', 'doctor', 'a', '--dialect', ''],
    ['command.usage', 'serve', '--port'],
    ['command.usage', 'serve', '--list=x'],
    ['command.usage', 'sign', '--', '--help'],
    ['command.usage', 'serve', '--port', '65536'],
    ['command.usage', 'serve', '--behaviour', 'constructor'],
    ['command.usage', 'proxy'],
    ['command.usage', 'proxy', ...upstream, '--key-env', 'NO_SUCH_VARIABLE'],
    ['command.usage', 'proxy', ...upstream, '--mode', 'no'],
    ['command.usage', 'proxy', '--upstream', 'foo'],
    ['command.usage', 'proxy', '--upstream', 'ftp://x'],
    ['command.usage', 'proxy', ...upstream, '--max-repeats', '0'],
    ['command.usage', 'proxy', ...upstream, '--max-same-call', '0'],
    ['command.usage', 'replay', 'a', '--step'],
    ['command.file', 'doctor', '/nowhere/to/be/found'],
    ['command.file', 'replay', tmpdir()],
    ['command.listen', 'serve', '--port', port],
    ['command.listen', 'proxy', ...upstream, '--port', port],
    ['json.syntax', 'doctor', '-'],
    ['json.syntax', 'replay', '-'],
    ['json.syntax', 'sign', 'find', '{'],
  ]
  const ways = ([, ...args]) => [args, [args[0] ?? '', '--json', ...args.slice(1)]]
  // What reads standard input or listens has processes of its own.
  const isAlone = ([code, , at]) => code === 'command.listen' || at === '-'
  const runs = turnlocks(rows.filter((row) => !isAlone(row)).flatMap(ways))
  for (const row of rows) {
    const [code, ...args] = row
    const [said, machine] = isAlone(row)
      ? ways(row).map((way) => turnlock(way))
      : runs.splice(0, ways(row).length)
    assert.deepEqual([said.status, said.stdout], [2, ''], args.join(' '))
    assert.ok(said.stderr.startsWith(`${code}: `), `${args.join(' ')}: ${said.stderr}`)
    assert.deepEqual([machine.status, machine.stdout], [2, ''], args.join(' '))
    const { error } = JSON.parse(machine.stderr)
    assert.equal(error.code, code, args.join(' '))
    assert.ok(!error.message.includes('\n') && !error.message.includes('usage: '), error.message)
  }
  const nowhere = ['doctor', '-', '--dialect', 'openai-chat', '--fix', '/nowhere/to/be/found']
  assert.match(turnlock(nowhere, { input: HISTORY }).stderr, /^command\.file: /)
})

test('an error is a sentence in red, with what may be meant; the usage below it is not red', () => {
  const [env, red] = [{ FORCE_COLOR: '1' }, (text) => `\x1b[31mcommand.usage: ${text}\x1b[39m\n`]
  const rows = [
    ['unknown option --dialekt; did you mean --dialect?', 'doctor', 'a', '--dialekt', 'x'],
    ['unknown option --behavior; did you mean --behaviour?', 'serve', '--behavior', 'x'],
    ['unknown option --elsewhere', 'serve', '--elsewhere'],
    ['--port needs a value', 'serve', '--port'],
    ['--list takes no value', 'serve', '--list=x'],
    ['there is no command srve; did you mean serve?', 'srve'],
    ['--mode: observe, repair, bound', 'proxy', '--upstream', 'http://x', '--mode', 'x'],
    ['--upstream: an address such as https://api.openai.com/v1', 'proxy', '--upstream', 'foo'],
  ]
  const runs = turnlocks(
    rows.map(([, ...args]) => args),
    { env },
  )
  for (const [at, [text]] of rows.entries()) {
    const { stderr } = runs[at]
    assert.ok(stderr.startsWith(red(text)), stderr)
    assert.ok(!stderr.slice(red(text).length).includes('\x1b'), stderr)
  }
})

test('a port that is taken is named with its option', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.after(() => taken.close())
  await once(taken, 'listening')
  const { port } = taken.address()
  const { stderr } = turnlock(['serve', '--port', String(port)])
  assert.equal(stderr, `command.listen: --port ${port} is in use; --port 0 takes a free one\n`)
})

test('help is as wide as the terminal, from 40 to 100 characters', () => {
  const wide = (columns) => {
    const node = ['--import', `data:text/javascript,process.stdout.columns=${columns}`]
    const lists = [['help'], ['help', 'proxy'], ['help', 'doctor']]
    const pages = turnlocks(lists, { node }).map(({ stdout }) => stdout)
    return Math.max(
      ...pages
        .join('\n')
        .split('\n')
        .map((line) => line.length),
    )
  }
  for (const columns of [40, 60, 80, 100]) {
    const widest = wide(columns)
    assert.ok(widest <= columns && widest > columns - 20, `${columns}: ${widest}`)
  }
  assert.ok(wide(300) <= 100)
  assert.ok(wide(10) <= 40)
})

test('no control characters of others reach a terminal with an error', () => {
  for (const args of [
    ['doctor', '/nowhere\x1b[2J\nfine'],
    ['doctor', 'a', '--no\x1b[2J'],
    ['doctor', 'a', 'b\x1b[2J'],
    ['\x9b2J'],
  ]) {
    const { status, stderr } = turnlock(args)
    assert.equal(status, 2)
    assert.ok(!/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/.test(stderr), JSON.stringify(stderr))
    assert.ok(!stderr.includes('\nfine'))
  }
})

test('colours: in a terminal or where they are forced, unless NO_COLOR forbids them', () => {
  const tty = [
    '--import',
    'data:text/javascript,process.stdout.isTTY=true;process.stdout.hasColors=()=>true',
  ]
  const isColoured = (env, node) => {
    const args = ['doctor', '-', '--dialect', 'openai-chat']
    const { stdout, status } = turnlock(args, { env, node, input: HISTORY })
    assert.equal(status, 0)
    return stdout.includes('\x1b[')
  }
  assert.equal(isColoured({}), false)
  assert.equal(isColoured({ FORCE_COLOR: '1' }), true)
  assert.equal(isColoured({ FORCE_COLOR: '1', NO_COLOR: '1' }), false)
  assert.equal(isColoured({}, tty), true)
  assert.equal(isColoured({ NO_COLOR: '1' }, tty), false)
  assert.equal(isColoured({ FORCE_COLOR: '0' }, tty), false)
})

test('progress is told to a terminal alone, and is gone at the end', () => {
  const node = ['--import', 'data:text/javascript,process.stderr.isTTY=true']
  const asked = (env, node) => turnlock(['doctor', '-', '--json'], { env, node, input: HISTORY })
  const { stderr, stdout } = asked({ TERM: 'xterm' }, node)
  assert.match(stderr, /\r\x1b\[2K█{3}░{17} anthropic, 3 of 13\r/)
  assert.ok(stderr.endsWith('\r\x1b[2K'))
  assert.equal(Object.keys(JSON.parse(stdout).dialects).length, 13)
  assert.equal(asked({ TERM: 'dumb' }, node).stderr, '')
  assert.equal(asked({ TERM: 'xterm' }).stderr, '')
})

test('a pipe that brings its text slowly, and one that is closed early', async () => {
  const slow = spawn(process.execPath, [path, 'doctor', '-', '--json'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const text = slow.stdout.toArray()
  for (const piece of HISTORY.match(/.{1,8}/g)) {
    slow.stdin.write(piece)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  slow.stdin.end()
  const { what } = JSON.parse(Buffer.concat(await text))
  assert.ok(what)
  const closed = spawn(process.execPath, [path, 'serve', '--list'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  closed.stdout.destroy()
  const said = await closed.stderr.toArray()
  const code = closed.exitCode ?? (await once(closed, 'exit'))[0]
  assert.deepEqual([code, Buffer.concat(said).toString()], [0, ''])
})

test('a file that PowerShell wrote is read: UTF-16, with its mark', () => {
  const at = mkdtempSync(join(tmpdir(), 'turnlock-'))
  const file = join(at, 'wide.json')
  writeFileSync(file, `\ufeff${HISTORY}`, 'utf16le')
  const dialect = ['--dialect', 'openai-chat']
  const { status, stderr } = turnlock(['doctor', file, ...dialect])
  assert.deepEqual([status, stderr], [0, ''])
  writeFileSync(file, `\ufeff${HISTORY}`)
  assert.equal(turnlock(['doctor', file, ...dialect]).status, 0)
  rmSync(at, { recursive: true })
})
