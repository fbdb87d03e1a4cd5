// The samples of README and docs: `js` blocks of README and of some guides are whole files, which
// run; `ts` blocks are fragments, which compile with the reader's own values of docs/names.ts.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import test, { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createProvider } from '../../tests/provider/server.mjs'

const root = new URL('../../', import.meta.url)
// In the repository, so that the package is found by its name.
const folder = new URL('.cache/samples/', root)
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
after(() => rmSync(folder, { recursive: true }))

const PAPERS = ['README.md', ...readdirSync(new URL('docs/', root)).map((name) => `docs/${name}`)]
const read = (paper) => readFileSync(new URL(paper, root), 'utf8')
const blocks = (paper, language) =>
  [...read(paper).matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\``, 'gm'))].map(
    ([, code]) => code,
  )

const execute = (file, args, env = {}) =>
  new Promise((resolve) => {
    const options = { env: { ...process.env, ...env }, cwd: fileURLToPath(root) }
    execFile(file, args, options, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    )
  })

/** Runs a block against the scripted model. */
async function run(name, code, baseURL) {
  const file = fileURLToPath(new URL(`${name}.mjs`, folder))
  writeFileSync(file, code)
  const [BASE_URL, OPENAI_API_KEY] = [baseURL, 'sk-test']
  return execute(process.execPath, [file], { BASE_URL, OPENAI_API_KEY })
}

const provider = await createProvider()
after(() => provider.close())
const at = (session, behaviour) => `${provider.url}/s/${session}/${behaviour}/v1`

test('the sample of the README runs, and says what failed', async () => {
  const [code, ...more] = blocks('README.md', 'js')
  assert.equal(more.length, 0)
  const ran = await run('readme', code, at('readme', 'loop-then-answer'))
  assert.equal(ran.code, 0, ran.stderr)
  assert.match(ran.stdout, /runs \[ 'list_files' \]/)
  assert.match(ran.stdout, /From the tool results I can say: .*BENCHMARKS\.md/)
  const refused = await run('readme', code, at('readme-refused', 'always-401'))
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /^failed model\.status /)
  const nobody = await run('readme', code, 'http://127.0.0.1:9/v1')
  assert.equal(nobody.code, 1)
  assert.match(nobody.stderr, /^failed model\.unreachable /)
})

test('the samples of docs/start.md run', async () => {
  const [ask, unit, ...more] = blocks('docs/start.md', 'js')
  assert.equal(more.length, 0)
  const ran = await run('start', ask, at('start', 'loop-then-answer'))
  assert.equal(ran.code, 0, ran.stderr)
  assert.match(ran.stdout, /From the tool results I can say: .*BENCHMARKS\.md/)
  const last = provider.requests('start').at(-1).body.messages
  const asked = last.filter(({ role }) => role === 'user').map(({ content }) => content)
  assert.deepEqual(asked, ['What is in my folder?', 'Which of it can I delete?'])
  const refused = await run('start', ask, at('start-refused', 'always-401'))
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /^model\.status: /)
  assert.equal((await run('unit', unit)).code, 0)
})

test('the samples of docs/moving.md run', async () => {
  const samples = blocks('docs/moving.md', 'js')
  assert.equal(samples.length, 2)
  for (const [place, code] of samples.entries()) {
    const session = `moving-${place}`
    const ran = await run(session, code, at(session, 'loop-then-answer'))
    assert.equal(ran.code, 0, ran.stderr)
    assert.match(ran.stdout, /From the tool results I can say: .*BENCHMARKS\.md/)
  }
})

test('the coding agent of docs/requests.md reads, plans, and edits once the plan is accepted', async () => {
  const [code, ...more] = blocks('docs/requests.md', 'js')
  assert.equal(more.length, 0)
  const project = new URL('project/', folder)
  mkdirSync(project)
  const notes = new URL('notes.txt', project)
  const wants = (...calls) => ({
    content: JSON.stringify({
      tool_calls: calls.map(([tool_name, params]) => ({ tool_name, params, reason: 'why' })),
    }),
  })
  const outside = `${'.'.repeat(2)}/secret`
  const edit = { path: 'notes.txt', old: 'Hihg', new: 'High' }
  const asks = [
    wants(['list_files', { path: '.' }], ['edit_file', edit]),
    wants(['read_file', { path: 'notes.txt' }], ['read_file', { path: outside }]),
    wants(),
    { content: JSON.stringify({ steps: [{ file: 'notes.txt', change: 'Hihg is High' }] }) },
  ]
  const call = {
    index: 0,
    id: 'c1',
    function: { name: 'edit_file', arguments: JSON.stringify(edit) },
  }
  const edits = [{ tool_calls: [call] }, { content: 'Fixed.' }, { content: 'Fixed.' }]
  let script = []
  const bodies = []
  const api = createHttpServer(async (request, response) => {
    bodies.push(JSON.parse(await new Response(request).text()))
    const delta = script.shift()
    const finish_reason = delta.tool_calls ? 'tool_calls' : 'stop'
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const said = { choices: [{ index: 0, delta, finish_reason }] }
    response.end(`data: ${JSON.stringify(said)}\n\ndata: [DONE]\n\n`)
  }).listen(0, '127.0.0.1')
  await once(api, 'listening')
  const file = fileURLToPath(new URL('agent.mjs', folder))
  writeFileSync(file, code)
  const env = { BASE_URL: `http://127.0.0.1:${api.address().port}/v1`, OPENAI_API_KEY: 'sk-test' }
  const play = (...args) =>
    execute(process.execPath, [file, fileURLToPath(project), 'Fix it.', ...args], env)
  try {
    writeFileSync(notes, 'Hihg tide is at noon.')
    script = [...asks]
    const planned = await play()
    assert.equal(planned.code, 0, planned.stderr)
    assert.deepEqual(planned.stdout.trim().split('\n'), [
      'list_files {"path":"."}: ok',
      `edit_file ${JSON.stringify(edit)}: not_read_only`,
      'read_file {"path":"notes.txt"}: ok',
      `read_file ${JSON.stringify({ path: outside })}: error`,
      'plan: notes.txt: Hihg is High',
    ])
    assert.equal(readFileSync(notes, 'utf8'), 'Hihg tide is at noon.')
    assert.ok(
      bodies.every((body) => !body.tools && !body.messages[0].content.includes('edit_file')),
    )
    script = [...asks, ...edits]
    const carried = await play('yes')
    assert.equal(carried.code, 0, carried.stderr)
    assert.match(carried.stdout, /Fixed\.\n$/)
    assert.equal(readFileSync(notes, 'utf8'), 'High tide is at noon.')
  } finally {
    api.close()
  }
})

test('the page for Vite of docs/start.md is served, and its model is asked with the key', async () => {
  const paper = read('docs/start.md')
  const files = paper.matchAll(/<!-- vite: (\S+) -->\n\n```\w+\n([^]*?)```/g)
  const page = new URL('vite/', folder)
  mkdirSync(page)
  for (const [, name, code] of files) writeFileSync(new URL(name, page), code)
  const asked = []
  const api = createHttpServer(({ url, headers: { authorization } }, response) => {
    asked.push([url, authorization])
    const delta = { choices: [{ index: 0, delta: { content: 'Hi.' }, finish_reason: 'stop' }] }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`data: ${JSON.stringify(delta)}\n\ndata: [DONE]\n\n`)
  }).listen(0, '127.0.0.1')
  await once(api, 'listening')
  process.env.BASE_URL = `http://127.0.0.1:${api.address().port}/v1`
  process.env.OPENAI_API_KEY = 'sk-test'
  const { createServer } = await import('vite')
  const served = await createServer({
    root: fileURLToPath(page),
    configFile: fileURLToPath(new URL('vite.config.js', page)),
    logLevel: 'silent',
    optimizeDeps: { noDiscovery: true },
  })
  try {
    await served.listen(0)
    const { port } = served.httpServer.address()
    const index = await (await fetch(`http://localhost:${port}/`)).text()
    const script = /src="(\/index\.html\?html-proxy[^"]*)"/.exec(index)[1].replace('&amp;', '&')
    const module = await (await fetch(`http://localhost:${port}${script}`)).text()
    assert.match(module, /import \{ openaiChat, runTurn \} from "\/[^"]*index\.js/)
    const { openaiChat, runTurn } = await import('turnlock')
    const model = openaiChat({ baseURL: `http://localhost:${port}/api/v1`, model: 'm' })
    const turn = runTurn({ model, messages: [{ role: 'user', content: 'Hello' }] })
    assert.equal((await turn.result).text, 'Hi.')
    assert.deepEqual(asked, [['/v1/chat/completions', 'Bearer sk-test']])
  } finally {
    await served.close()
    api.close()
  }
})

test('every other sample compiles', async () => {
  for (const name of ['names.ts', 'modules.d.ts']) {
    writeFileSync(new URL(name, folder), readFileSync(new URL(`docs/${name}`, import.meta.url)))
  }
  let count = 0
  for (const paper of PAPERS) {
    if (!/\.md$/.test(paper)) continue
    for (const code of blocks(paper, 'ts')) {
      const name = paper.replace(/\W+/g, '-')
      writeFileSync(new URL(`${name}-${++count}.ts`, folder), `${code}\nexport {}\n`)
    }
    const runs = paper === 'README.md' || /(start|testing|moving|requests)\.md$/.test(paper)
    assert.ok(runs || !blocks(paper, 'js').length, `${paper} has a js block that nothing runs`)
  }
  assert.ok(count > 20, `only ${count}`)
  const compilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: 'es2022',
    module: 'esnext',
    moduleResolution: 'bundler',
    lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: ['node'],
  }
  writeFileSync(
    new URL('tsconfig.json', folder),
    JSON.stringify({ compilerOptions, include: ['.'] }),
  )
  const tsc = fileURLToPath(new URL('node_modules/typescript/bin/tsc', root))
  const { code, stdout, stderr } = await execute(process.execPath, [
    tsc,
    '-p',
    fileURLToPath(folder),
  ])
  assert.deepEqual([code, stdout, stderr], [0, '', ''])
})
