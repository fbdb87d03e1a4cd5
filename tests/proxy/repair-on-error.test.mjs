// Requests that a provider refuses for their history, through the proxy and `guardFetch`: repaired and
// sent once more. The provider is a server that speaks as those of public reports.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, before, beforeEach, describe, test } from 'node:test'
import { guardFetch } from 'turnlock/guard'
import { createProxy } from 'turnlock/proxy'

const ALTERNATE = 'Conversation roles must alternate user/assistant/user/assistant/...'
const MESSAGES = [
  { role: 'user', content: 'one', name: 'me' },
  { role: 'user', content: 'two' },
]

let server, url
let requests
/** Answers of the provider, the last one again and again: a text is a refusal. */
let answers

before(async () => {
  server = createServer(async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const answer = answers[Math.min(requests.length, answers.length - 1)]
    requests.push(Buffer.concat(chunks).toString())
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' })
    response.end(answer.body ?? JSON.stringify(answer.json))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${server.address().port}`
})
after(() => server.close())
beforeEach(() => (requests = []))

const refused = (message, status = 400) => ({ status, json: { error: { message } } })
const done = {
  json: {
    choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  },
}

/** What came of a request through each of the two, and its report. */
const ways = {
  async proxy(body, options) {
    const reports = []
    const proxy = createProxy({
      upstream: url,
      mode: 'repair',
      authorize: () => ({ tenant: 'me' }),
      onReport: (report) => reports.push(report),
      ...options,
    })
    const address = 'https://edge.example/v1/chat/completions'
    const response = await proxy(new Request(address, { method: 'POST', body }))
    return { status: response.status, text: await response.text(), report: reports[0] }
  },
  async guardFetch(body, options) {
    const reports = []
    const guarded = guardFetch(fetch, {
      mode: 'repair',
      onReport: (report) => reports.push(report),
      ...options,
    })
    const response = await guarded(`${url}/v1/chat/completions`, { method: 'POST', body })
    return { status: response.status, text: await response.text(), report: reports[0] }
  },
}
const body = (members = {}) => JSON.stringify({ model: 'm', messages: MESSAGES, ...members })

for (const [name, send] of Object.entries(ways)) {
  describe(name, () => {
    test('a refused history is repaired, and the other members keep their bytes', async () => {
      answers = [refused(ALTERNATE), done]
      const given =
        '{ "temperature": 1e0, "messages": ' +
        JSON.stringify(MESSAGES) +
        ', "seed": 12345678901234567890 }'
      const { status, text, report } = await send(given, { repairOnError: true })
      assert.equal(status, 200)
      assert.match(text, /"ok"/)
      assert.equal(requests.length, 2)
      assert.equal(requests[0], given)
      const { messages } = JSON.parse(requests[1])
      assert.equal(messages.length, 1)
      assert.match(messages[0].content, /^one\s+two$/)
      const around = (json) => [json.slice(0, json.indexOf('[')), json.slice(json.lastIndexOf(']'))]
      assert.deepEqual(around(requests[1]), around(given))
      const [{ code, action, detail }] = report.repairs
      assert.deepEqual([code, action], ['ROLE_ALTERNATION', 'merged'])
      assert.match(detail, /the provider refused the request$/)
      assert.equal(report.status, 200)
    })

    test('a second refusal passes', async () => {
      answers = [refused(ALTERNATE), refused('still not')]
      const { status, text } = await send(body(), { repairOnError: true })
      assert.deepEqual([status, requests.length], [400, 2])
      assert.match(text, /still not/)
    })

    test('a refusal that names no fault of the request passes as it came', async () => {
      for (const message of [
        'max_tokens is too large',
        'tool role, but there was no previous assistant',
      ]) {
        requests = []
        answers = [refused(message)]
        const { status, text, report } = await send(body(), { repairOnError: true })
        assert.deepEqual([status, requests.length], [400, 1])
        assert.equal(text, JSON.stringify(answers[0].json))
        assert.deepEqual(report.repairs, [])
      }
    })

    test('a long refusal passes whole', async () => {
      answers = [{ status: 400, body: 'x'.repeat(300_000) + ALTERNATE }]
      const { status, text } = await send(body(), { repairOnError: true })
      assert.deepEqual([status, text.length, requests.length], [400, 300_000 + ALTERNATE.length, 1])
    })

    test('observe repairs nothing', async () => {
      answers = [refused(ALTERNATE), done]
      const { status } = await send(body(), { repairOnError: true, mode: 'observe' })
      assert.deepEqual([status, requests.length], [400, 1])
    })

    test('off', async () => {
      answers = [refused(ALTERNATE), done]
      const { status } = await send(body(), { repairOnError: false })
      assert.deepEqual([status, requests.length], [400, 1])
    })

    test('the default', async () => {
      answers = [refused(ALTERNATE), done]
      const { status } = await send(body(), {})
      assert.deepEqual([status, requests.length], name === 'proxy' ? [400, 1] : [200, 2])
    })

    test('a stream', async () => {
      const chunk = { choices: [{ index: 0, delta: { content: 'ok' }, finish_reason: 'stop' }] }
      answers = [
        refused(ALTERNATE, 422),
        { body: `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n` },
      ]
      const { status, text } = await send(body({ stream: true }), { repairOnError: true })
      assert.deepEqual([status, requests.length], [200, 2])
      assert.match(text, /\[DONE\]/)
    })
  })
}

test('repairOnError is a flag', () => {
  const wrong = { code: 'options.invalid' }
  assert.throws(() => guardFetch(fetch, { repairOnError: 'yes' }), wrong)
  const options = { upstream: url, authorize: () => null, repairOnError: 1 }
  assert.throws(() => createProxy(options), wrong)
})
