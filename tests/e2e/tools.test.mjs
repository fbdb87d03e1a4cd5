// The visitor's own tools: described as JSON, offered to a real endpoint, with the results that the
// description has.
import assert from 'node:assert/strict'
import test, { afterEach, beforeEach } from 'node:test'
import { until } from '../patience.mjs'
import { visiting } from './visiting.mjs'

const visit = visiting('#turn')
let page
/** What the endpoint was sent. */
let sent
/** What it says: one list of deltas a request, the last one again and again. */
let script
beforeEach(async () => {
  page = visit.page
  sent = []
  await page.route('https://models.example/**', (route) => {
    if (route.request().method() === 'OPTIONS') {
      const all = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' }
      return route.fulfill({ headers: all })
    }
    const body = route.request().postDataJSON()
    sent.push({ body, headers: route.request().headers() })
    const answer =
      body.tools?.length && body.tool_choice !== 'none' ? script : [{ content: 'Done.' }]
    const chunks = answer.map((delta) => ({ choices: [{ index: 0, delta }] }))
    chunks.push({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
    return route.fulfill({
      headers: { 'content-type': 'text/event-stream', 'access-control-allow-origin': '*' },
      body: [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]']
        .map((data) => `data: ${data}\n\n`)
        .join(''),
    })
  })
})
afterEach(() => assert.deepEqual(visit.complaints.splice(0), []))

const call = (name, args, id = 'call_1') => ({
  tool_calls: [
    { index: 0, id, type: 'function', function: { name, arguments: JSON.stringify(args) } },
  ],
})
const describe = async (tools) => {
  await page.locator('#own-tools').evaluate((field) => (field.closest('details').open = true))
  await page.fill('#own-tools', typeof tools === 'string' ? tools : JSON.stringify(tools))
}
const real = async () => {
  await page.selectOption('#provider', 'real')
  await page.fill('#baseURL', 'https://models.example/v1')
  await page.fill('#model', 'm')
  await page.fill('#apiKey', 'sk-own')
}
const SCHEMA = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] }

test('a real endpoint is offered them, and gets their results', async () => {
  await describe([
    {
      name: 'search',
      description: 'Searches.',
      schema: SCHEMA,
      results: [{ hits: ['<b>four</b>'] }],
    },
  ])
  script = [call('search', { query: 'tides' })]
  await real()
  await page.click('#send')
  await page.waitForSelector('#timeline .end:has-text("Complete")')
  const [{ function: offered }] = sent[0].body.tools
  assert.deepEqual([offered.name, offered.description], ['search', 'Searches.'])
  assert.deepEqual(offered.parameters.required, ['query'])
  assert.match(JSON.stringify(sent.at(-1).body.messages), /<b>four<\/b>/)
  assert.match(await page.textContent('#timeline'), /search: ok/)
  assert.equal(await page.locator('#timeline b').count(), 0)
  await until(async () => /search: 1 started, 1 finished/.test(await page.textContent('#runs')))
})

test('results come in order, an error is thrown, and the arguments are checked', async () => {
  await describe({
    tools: [
      {
        type: 'function',
        function: { name: 'one', parameters: SCHEMA },
        results: [1, { error: 'broken' }],
      },
    ],
  })
  await real()
  await page.fill('#policy-maxTools', '3')
  const calls = [
    ...[{ query: 'a' }, { query: 'b' }, { wrong: 1 }].map((args, index) => ({
      tool_calls: [
        {
          index,
          id: `c${index}`,
          type: 'function',
          function: { name: 'one', arguments: JSON.stringify(args) },
        },
      ],
    })),
  ]
  script = calls
  await page.click('#send')
  await page.waitForSelector('#timeline .end:has-text("Complete")')
  const said = await page.textContent('#timeline')
  assert.match(said, /one: ok/)
  assert.match(said, /one: error broken/)
  assert.match(said, /invalid_arguments/)
})

test('what is wrong is said at the field, and no turn begins', async () => {
  const says = () => page.textContent('#own-tools-said')
  for (const [given, expected] of [
    ['[{"name": "a",}]', /line 1, column 15/],
    ['[]', /a list of tools/],
    ['[{"name": "a b"}]', /tool 1: "name"/],
    ['[{"name": "a"}, {"name": "a"}]', /tool 2: .*called a/],
    ['[{"name": "a", "schema": "x"}]', /a: "schema"/],
    ['[{"name": "a", "results": {}}]', /a: "results"/],
    ['[{"name": "__proto__", "schema": 1}]', /__proto__: "schema"/],
  ]) {
    await describe(given)
    assert.match(await says(), expected, given)
    assert.equal(await page.getAttribute('#own-tools', 'aria-invalid'), 'true')
  }
  await page.click('#send')
  await until(async () => /"schema"/.test(await page.textContent('#status')))
  assert.equal(await page.locator('.message').count(), 0)
  await describe('')
  assert.equal(await page.getAttribute('#own-tools', 'aria-invalid'), 'false')
  await page.click('#send')
  await page.waitForSelector('#timeline .end:has-text("Complete")')
})

test('they are there after a reload, when a turn goes on', async () => {
  await describe([{ name: 'list_files', result: ['mine.txt'] }])
  await page.check('#policy-pauseAfterTools')
  await page.selectOption('#behaviour', 'one-call')
  await page.click('#send')
  await page.waitForSelector('#decision .primary')
  await page.reload()
  await page.waitForSelector('#decision .primary')
  assert.match(await page.inputValue('#own-tools'), /mine\.txt/)
  await page.click('#decision .primary')
  await page.waitForSelector('#timeline .end:has-text("Complete")')
  assert.match(await page.textContent('.message.assistant'), /mine\.txt/)
})

test('the race with a real endpoint: by the button alone, with the same tools on both sides', async () => {
  await describe([{ name: 'search', schema: SCHEMA, results: [{ hits: 1 }] }])
  script = [call('search', { query: 'tides' })]
  await page.click('#views a[href="#race"]')
  await page.click('#race-vices [value=real]')
  await page.click('#race-replay')
  await page.locator('#race-real-said').filter({ hasText: 'base URL' }).waitFor()
  await page.click('#race-real a')
  await page.fill('#prompt', 'When is high tide?')
  await real()
  await page.click('#views a[href="#race"]')
  await page.fill('#race-cap', '4')
  await until(async () => (await page.textContent('#race-plain-rule')) === 'capped at 4 steps')
  assert.deepEqual(sent, [], 'nothing is asked before the button')
  await page.click('#race-replay')
  await page.locator('#race-plain-verdict.bad').waitFor()
  await page.locator('#race-staged-verdict.good').waitFor()
  const models = (name) => page.textContent(`#race-${name}-models`)
  assert.deepEqual([await models('plain'), await models('staged')], ['4', '2'])
  assert.equal(await page.textContent('#race-plain-runs-about'), 'tool runs, 3 of them again')
  assert.equal(sent.length, 6)
  for (const { body, headers } of sent) {
    assert.equal(headers.authorization, 'Bearer sk-own')
    assert.equal(body.messages.find(({ role }) => role === 'user').content, 'When is high tide?')
  }
  // The code is that of this run, and is code.
  const code = await page.textContent('#race-code')
  assert.match(code, /"search": defineTool\(/)
  assert.match(code, /"When is high tide\?"/)
  const [, body] = code.split("from 'turnlock'\n")
  const made = []
  const play = new Function(
    'defineTool',
    'openaiChat',
    'runTurn',
    'show',
    'yours',
    `return (async () => {${body}})()`,
  )
  const turn = (options) => {
    made.push(options)
    return { result: {}, async *[Symbol.asyncIterator]() {} }
  }
  await play(
    (tool) => tool,
    (model) => model,
    turn,
  )
  assert.deepEqual(made[0].tools.search.inputSchema, SCHEMA)
  assert.match(page.url(), /#race\?model=real/)
  // A link to it asks nobody by itself.
  const before = sent.length
  await page.reload()
  await page.waitForSelector('[data-ready]')
  assert.deepEqual([await page.textContent('#race-plain-verdict'), sent.length], ['ready', before])
})
