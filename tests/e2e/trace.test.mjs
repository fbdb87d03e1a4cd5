// "Your trace": what a pasted text is, where it loops, who would refuse it; then in the page.
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import test, { beforeEach } from 'node:test'
import { data } from '../data.mjs'
import { callsOf, groupsOf, saved } from '../../www/src/trace/calls.js'
import { recognise } from '../../www/src/trace/recognise.js'
import { visiting } from './visiting.mjs'

const visit = visiting('#doctor')
let page
beforeEach(() => {
  page = visit.page
})

const said = { role: 'user', content: 'What\'s in "my" $NAME?' }
const asked = (id, args, name = 'read_file') => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name, arguments: args } }],
})
const told = (id, content = 'Buy milk.') => ({ role: 'tool', tool_call_id: id, content })
const PATH = '{"path":"a","lines":4}'
/** The same call four times, spelled in two ways; then another. */
const LOOP = [
  said,
  ...[PATH, '{"lines": 4, "path": "a"}', PATH, PATH].flatMap((args, at) => [
    asked(`c${at}`, args),
    told(`c${at}`),
  ]),
  asked('c9', '{}', 'list_files'),
  told('c9', '[]'),
]
const body = { model: 'm', messages: LOOP, stream: true }

test('bodies of requests, by their shape', () => {
  const bodies = {
    'OpenAI request body': body,
    'Anthropic request body': { system: 'x', messages: [said] },
    'Bedrock Converse request body': { messages: [said], inferenceConfig: {} },
    'Gemini request body': { contents: [{ role: 'user', parts: [{ text: 'x' }] }] },
    'OpenAI Responses request body': { input: [said], store: false },
  }
  for (const [what, value] of Object.entries(bodies)) {
    const found = recognise(JSON.stringify(value))
    assert.equal(found.what, what)
    const list = value.messages ?? value.contents ?? value.input
    assert.deepEqual(found.history, list)
    assert.equal(found.beside.length, Object.keys(value).length - 1)
  }
})

test('lists, by whose they are', () => {
  const lists = {
    'OpenAI messages': LOOP,
    messages: [said],
    'AI SDK messages': [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'x' }] }],
    'Gemini contents': [{ role: 'user', parts: [{ text: 'x' }] }],
    'LangChain messages': [{ lc: 1, type: 'constructor', id: ['HumanMessage'], kwargs: {} }],
    'Responses items': [said, { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }],
    'Anthropic messages': [
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
    ],
    'Turnlock events': [{ type: 'text', seq: 1, requestId: 'r', chunk: 'x' }],
  }
  for (const [what, list] of Object.entries(lists)) {
    assert.deepEqual(recognise(JSON.stringify(list)), { what, history: list })
  }
})

test('a curl command, as shells quote', () => {
  const json = JSON.stringify(body)
  const commands = [
    `curl https://x.test/v1 -H 'authorization: Bearer sk' -d '${json.replaceAll("'", String.raw`'\''`)}'`,
    `curl -X POST https://x.test \\\n  --data-raw '${json.replaceAll("'", String.raw`'\''`)}' \\\n  --compressed`,
    `curl https://x.test --json "${json.replaceAll(/["\\$`]/g, String.raw`\$&`)}"`,
    `$ curl https://x.test --data-binary $'${json.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`,
  ]
  for (const command of commands) {
    const found = recognise(command)
    assert.equal(found?.what, 'curl command, OpenAI request body', command)
    assert.deepEqual(found.history, LOOP)
  }
})

test('JSON lines: messages, requests, chunks of a response', () => {
  const lines = (...values) => values.map((value) => JSON.stringify(value)).join('\n')
  assert.deepEqual(recognise(lines(...LOOP)), {
    what: 'JSON lines: OpenAI messages',
    history: LOOP,
  })
  const log = recognise(lines({ messages: [said] }, body, { level: 'info' }))
  assert.match(log.what, /^JSON lines, 2 of them with a history; the longest: OpenAI request body$/)
  assert.deepEqual(log.history, LOOP)
  const chunk = (delta) => ({ choices: [{ index: 0, delta }] })
  const streamed = recognise(
    lines(chunk({ role: 'assistant', content: 'a' }), chunk({ content: 'b' })),
  )
  assert.deepEqual(streamed.history, [{ role: 'assistant', content: 'ab' }])
})

test('exports of tracing tools: the list in them, and the answer', () => {
  const answer = { role: 'assistant', content: 'Milk.' }
  const langsmith = {
    run_type: 'llm',
    inputs: { messages: [LOOP] },
    outputs: { generations: [[{ message: answer }]] },
  }
  assert.deepEqual(recognise(JSON.stringify(langsmith)), {
    what: 'LangSmith run: OpenAI messages',
    history: [...LOOP, answer],
  })
  const langfuse = { id: 't', observations: [{ input: [said] }, { input: LOOP, output: answer }] }
  const found = recognise(JSON.stringify(langfuse))
  assert.deepEqual([found.what, found.history], ['Langfuse trace: OpenAI messages', LOOP])
  assert.equal(recognise('{"a":[1,2,{"b":3}]}'), undefined)
  assert.equal(recognise('42'), undefined)
  assert.throws(() => recognise('hello'), SyntaxError)
})

test('recorded responses of every wire, whole and streamed, become messages', () => {
  let known = 0
  for (const provider of ['openai', 'anthropic', 'google', 'deepseek', 'cohere']) {
    const root = data(`streams-vercel-ai/files/${provider}/`)
    // Some recordings are broken on purpose.
    for (const name of readdirSync(root).filter(
      (file) => !/error|embed|spliced|wrapper/.test(file),
    )) {
      const found = recognise(readFileSync(new URL(name, root), 'utf8'))
      if (!found) continue
      assert.match(found.what, /^(response|JSON lines|the longest|error)/, name)
      if (/^response stream/.test(found.what)) {
        const [{ role, content, tool_calls: calls = [] }] = found.history
        assert.equal(role, 'assistant')
        for (const call of calls) JSON.parse(call.function.arguments || '{}')
        known += content || calls.length ? 1 : 0
      }
    }
  }
  assert.ok(known > 40, `${known} streams`)
})

test('conversations of agents: the calls that stand in them, repeats by signature', () => {
  const text = readFileSync(data('trajectories-tau-bench/gpt-4o-airline.61.jsonl'), 'utf8')
  for (const line of text.trim().split('\n')) {
    const given = JSON.parse(line)
    const { calls } = callsOf(recognise(line).history)
    assert.equal(calls.length, given.n_tool_calls)
    const groups = groupsOf(calls.map((call) => ({ ...call, turn: 0 })))
    const twice = groups.reduce((sum, { places }) => sum + places.length - 1, 0)
    assert.equal(twice, given.duplicate_calls)
  }
})

test('what a budget would have saved', () => {
  const found = callsOf(LOOP)
  assert.deepEqual(
    groupsOf(found.calls).map(({ name, places, texts }) => [name, places, texts.size]),
    [
      ['read_file', [0, 1, 2, 3], 2],
      ['list_files', [4], 1],
    ],
  )
  // Five requests, of which the first asked for the call and the second is the answer's.
  const one = saved(found, 1)
  assert.deepEqual([one.models, one.runs, one.cut], [3, 4, 1])
  const bytes = (messages) =>
    messages.reduce((sum, each) => sum + Buffer.byteLength(JSON.stringify(each)), 0)
  assert.equal(
    one.bytes,
    [5, 7, 9].reduce((sum, end) => sum + bytes(LOOP.slice(0, end)), 0),
  )
  const two = saved(found, 2)
  assert.deepEqual([two.models, two.runs], [0, 3])
  const apart = callsOf([...LOOP.slice(0, 3), said, ...LOOP.slice(3, 5)])
  assert.equal(groupsOf(apart.calls)[0].places.length, 1, 'another user turn is no repeat')
})

const paste = async (value) => {
  await page.fill('#history', typeof value === 'string' ? value : JSON.stringify(value, null, 2))
}
const shows = (selector, text) => page.locator(selector).filter({ hasText: text }).waitFor()

test('first sight: a trace that loops, found, and stopped by a budget', async () => {
  assert.match(
    await page.textContent('#recognised'),
    /^OpenAI request body · 28 elements · 13 calls/,
  )
  assert.match(await page.textContent('#loops-verdict'), /^read_file .* 12 times in one turn/)
  assert.match(await page.textContent('#loops-saved'), /^With maxTools: 2 .*10 model calls/)
  assert.equal(await page.locator('#loops-rows circle').count(), 13)
  assert.equal(await page.locator('#loops-rows circle.again').count(), 11)
  await page.locator('#loops-budget').fill('1')
  await shows('#loops-saved', /^With maxTools: 1 .*11 model calls/)
  await page.click('#loops-replay')
  await shows('#replay-said', /^complete: 1 call ran, then an answer\.$/)
  const events = await page.locator('#replay-events li').count()
  await page.locator('#replay-at').fill('0')
  assert.equal(JSON.parse(await page.textContent('#replay-json')).type, 'phase_start')
  assert.equal(await page.locator('#replay-events .later').count(), events - 1)
  await page.locator('#replay-events button').nth(2).click()
  assert.equal(await page.inputValue('#replay-at'), '2')
})

test('in a replay nothing runs twice', async () => {
  await paste(body)
  await shows('#recognised', /5 calls/)
  await page.locator('#loops-budget').fill('5')
  await page.click('#loops-replay')
  await shows(
    '#replay-said',
    /^complete: 2 calls ran, 3 asked again and got the same result without a run, then/,
  )
})

test('every provider at a glance; a click chooses it', async () => {
  await paste([said, told('lost')])
  await shows('#recognised', /2 elements/)
  await page.waitForFunction(() => !document.querySelector('#providers').textContent.includes('…'))
  const chips = await page.locator('#providers button').allTextContents()
  assert.equal(chips.length, await page.locator('#dialect option').count())
  assert.ok(chips.includes('OpenAI chat✕ 1'), chips.join())
  await page.click('#providers [value="anthropic"]')
  assert.equal(await page.inputValue('#dialect'), 'anthropic')
  await page.waitForSelector('#providers [value="anthropic"][aria-pressed="true"]')
  await shows('#outcome', /for Anthropic/)
})

test("a provider's error leads to the message that it is about", async () => {
  const refusal =
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
  await paste([said, told('lost'), said])
  await page.fill('#refusal', refusal)
  await shows('#refusal-about', /TOOL_RESULT_ORPHAN.*element 1/)
  await page.waitForSelector('#violations li.pointed')
  await page.fill('#refusal', 'insufficient quota')
  await shows('#refusal-about', /No rule/)
  await page.fill('#refusal', '')
  await paste({ error: { message: refusal, type: 'invalid_request_error' } })
  await shows('#recognised', /^error of a provider$/)
  await shows('#outcome', /^It names .*TOOL_RESULT_ORPHAN/)
})

test('a file that is dropped is read, and what is in it stays text', async () => {
  const tag = '<img src=x onerror="document.title=1">'
  const hostile = [said, asked('c', JSON.stringify({ [tag]: tag }), tag), told('c', tag), said]
  const text = JSON.stringify({ messages: hostile, [tag]: 1 })
  await page.evaluate((given) => {
    const held = new DataTransfer()
    held.items.add(new File([given], 'trace.json'))
    document
      .querySelector('#doctor h1')
      .dispatchEvent(new DragEvent('drop', { dataTransfer: held, bubbles: true, cancelable: true }))
  }, text)
  await shows('#recognised', /^OpenAI request body · 4 elements · 1 call; beside it: <img/)
  await page.click('#loops-replay')
  await shows('#replay-said', /^complete/)
  assert.equal(await page.locator('#doctor img').count(), 0)
  assert.equal(await page.title(), 'Your trace · Turnlock')
})

test('a link holds the trace, and nothing else does', async () => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  const text = JSON.stringify({ messages: [{ role: 'user', content: 'ünïcode 東京 🦊' }, ...LOOP] })
  await paste(text)
  await shows('#recognised', /6 calls|5 calls/)
  const requests = []
  page.on('request', (request) => requests.push(request.url()))
  await page.click('#trace-share')
  await shows('#trace-shared', /^Copied/)
  assert.deepEqual(requests, [])
  const link = await page.evaluate(() => navigator.clipboard.readText())
  const other = await visit.open(await page.context().browser().newContext())
  await other.goto(link)
  await other.locator('#recognised').filter({ hasText: '12 elements' }).waitFor()
  assert.equal(await other.inputValue('#history'), text)
  await other.goto(`${link.split('?')[0]}?t=AAAA`)
  await other.locator('#trace-shared').filter({ hasText: 'broken' }).waitFor()
  await other.context().close()
  // Random digits do not deflate.
  const noise = Array.from({ length: 9000 }, () => crypto.randomUUID()).join('')
  await paste([{ role: 'user', content: noise }])
  await page.click('#trace-share')
  await shows('#trace-shared', /^Too long/)
})

test('the theme is chosen, and kept', async () => {
  const ground = () =>
    page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await ground()
  await page.click('#theme')
  assert.equal(await page.textContent('#theme'), 'Theme: light')
  assert.notEqual(await ground(), dark)
  await page.reload()
  await page.waitForSelector('[data-ready]')
  assert.equal(await page.textContent('#theme'), 'Theme: light')
  await page.click('#theme')
  await page.emulateMedia({ colorScheme: 'light' })
  assert.equal(await ground(), dark)
  await page.click('#theme')
  assert.equal(await page.textContent('#theme'), 'Theme: system')
})

test('nothing complained: no console error, no blocked script', () =>
  assert.deepEqual(visit.complaints, []))
