// `guardFetch` in unmodified clients, before the scripted provider: the rules of the proxy without one.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, before, describe, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { ChatAnthropic } from '@langchain/anthropic'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, jsonSchema, stepCountIs, tool } from 'ai'
import { build } from 'esbuild'
import OpenAI from 'openai'
import { guardFetch } from 'turnlock/guard'
import { z } from 'zod'
import { createProvider } from '../provider/server.mjs'

let provider
before(async () => (provider = await createProvider()))
after(() => provider.close())

const LIST = { path: '.', recursive: true }
const functions = [
  { type: 'function', function: { name: 'list_files', parameters: { type: 'object' } } },
]
const user = { role: 'user', content: 'look' }
const called = (id) => ({
  role: 'assistant',
  content: null,
  tool_calls: [
    { id, type: 'function', function: { name: 'list_files', arguments: JSON.stringify(LIST) } },
  ],
})
const returned = (tool_call_id) => ({ role: 'tool', tool_call_id, content: '["notes.txt"]' })
/** A history in which the same call had the same result so many times. */
const looped = (times) => [
  user,
  ...Array.from({ length: times }, (_, at) => [called(`c${at}`), returned(`c${at}`)]).flat(),
]

function sessionOf(behaviour, options = {}) {
  const session = crypto.randomUUID()
  const reports = []
  return {
    base: `${provider.url}/s/${session}/${behaviour}`,
    reports,
    fetch: guardFetch(undefined, { ...options, onReport: (report) => reports.push(report) }),
    requests: () => provider.requests(session),
  }
}

describe('guardFetch', () => {
  for (const stream of [true, false]) {
    const how = stream ? 'stream' : 'whole'
    test(`openai, ${how}: a repeated call is answered`, async () => {
      const { base, fetch, reports, requests } = sessionOf('loop-then-answer')
      const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'k', fetch })
      const body = { model: 'm', messages: looped(2), tools: functions }
      const completion = stream
        ? await client.chat.completions.stream(body).finalChatCompletion()
        : await client.chat.completions.create(body)
      const [{ message, finish_reason }] = completion.choices
      assert.match(message.content, /^From the tool results/)
      assert.equal(finish_reason, 'stop')
      assert.equal(message.tool_calls?.length ?? 0, 0)
      assert.deepEqual(
        requests().map(({ choice }) => choice),
        [null, 'none'],
      )
      const [{ blocked, forced, mode }] = reports
      assert.deepEqual([blocked.length, forced, mode], [1, 'duplicate', 'bound'])
    })

    test(`anthropic, ${how}: an orphan is repaired, the rest stays`, async () => {
      const { base, fetch, reports, requests } = sessionOf('answer')
      const client = new Anthropic({ baseURL: base, apiKey: 'k', fetch })
      const orphan = { type: 'tool_result', tool_use_id: 'gone', content: 'x' }
      const body = {
        model: 'm',
        max_tokens: 99,
        messages: [{ role: 'user', content: [orphan, { type: 'text', text: 'hello' }] }],
      }
      const message = stream
        ? await client.messages.stream(body).finalMessage()
        : await client.messages.create(body)
      assert.equal(message.content[0].type, 'text')
      assert.deepEqual(
        reports[0].repairs.map(({ code }) => code),
        ['TOOL_RESULT_ORPHAN'],
      )
      assert.equal(requests().length, 1)
    })
  }

  test('observe reports and changes nothing; repair blocks nothing', async () => {
    for (const mode of ['observe', 'repair']) {
      const { base, fetch, reports } = sessionOf('loop', { mode })
      const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'k', fetch })
      const body = { model: 'm', messages: looped(2), tools: functions }
      const completion = await client.chat.completions.create(body)
      assert.equal(completion.choices[0].message.tool_calls.length, 1)
      assert.equal(reports[0].blocked.length, 1)
    }
  })

  test('frameworks: a tool that is asked for 25 times makes at most 3 model calls', async () => {
    const { base, fetch, requests } = sessionOf('loop')
    const runs = []
    const list_files = tool({
      inputSchema: jsonSchema({ type: 'object' }),
      execute: (args) => (runs.push(args), ['notes.txt']),
    })
    const compatible = createOpenAICompatible({ name: 's', baseURL: `${base}/v1`, fetch })
    const { steps, text } = await generateText({
      model: compatible.chatModel('m'),
      prompt: 'look',
      tools: { list_files },
      stopWhen: stepCountIs(25),
    })
    assert.equal(steps.length, 3)
    assert.equal(runs.length, 2)
    assert.notEqual(text, '')
    assert.equal(requests().length, 4, 'the third call was answered by a second request')
  })

  // The AI SDK sends back what zod has read: without `recursive`, and with the default.
  for (const [name, inputSchema] of Object.entries({
    'a member that the schema does not have': z.object({ path: z.string() }),
    'a default': z.object({
      path: z.string(),
      recursive: z.boolean(),
      depth: z.number().default(3),
    }),
    both: z.object({ path: z.string(), depth: z.number().default(3) }),
  })) {
    test(`AI SDK, zod, ${name}: the loop is answered`, async () => {
      const { base, fetch, requests } = sessionOf('loop-then-answer')
      let runs = 0
      const list_files = tool({ inputSchema, execute: () => (runs++, ['notes.txt']) })
      const compatible = createOpenAICompatible({ name: 's', baseURL: `${base}/v1`, fetch })
      const { text } = await generateText({
        model: compatible.chatModel('m'),
        prompt: 'look',
        tools: { list_files },
        stopWhen: stepCountIs(25),
      })
      assert.deepEqual([runs, requests().length], [2, 4])
      assert.match(text, /^From the tool results/)
    })
  }

  for (const [name, make] of Object.entries({
    ChatOpenAI: ({ base, fetch }) =>
      new ChatOpenAI({ model: 'm', apiKey: 'k', configuration: { baseURL: `${base}/v1`, fetch } }),
    ChatAnthropic: ({ base, fetch }) =>
      new ChatAnthropic({
        model: 'm',
        apiKey: 'k',
        anthropicApiUrl: base,
        clientOptions: { fetch },
      }),
  })) {
    test(`LangChain, ${name}: requests are watched`, async () => {
      const session = sessionOf('answer')
      const { content } = await make(session).invoke([['human', 'hello']])
      assert.match(JSON.stringify(content), /Hello!/)
      assert.equal(session.reports.length, 1)
    })
  }

  test("headers, address and other arguments are the caller's own", async () => {
    const seen = []
    const send = async (...given) => {
      seen.push(given)
      return new Response('{"choices":[]}', { headers: { 'set-cookie': 'a=1', 'x-own': 'b' } })
    }
    const fetch = guardFetch(send)
    const headers = { authorization: 'Bearer k', 'x-client-ip': '1.2.3.4', 'helicone-auth': 'h' }
    const signal = new AbortController().signal
    const body = JSON.stringify({ model: 'm', messages: [user] })
    const init = { method: 'POST', headers, signal, body, dispatcher: 'own' }
    const response = await fetch('https://x.example/v1/chat/completions?q=1', init)
    const [[address, sent]] = seen
    assert.equal(address, 'https://x.example/v1/chat/completions?q=1')
    assert.equal(sent.headers, headers)
    assert.equal(sent.signal, signal)
    assert.equal(sent.dispatcher, 'own')
    assert.equal(new TextDecoder().decode(sent.body), body)
    assert.equal(response.headers.get('x-own'), 'b')
    assert.equal(response.headers.get('set-cookie'), 'a=1')
    assert.equal(response.url, address)
    assert.deepEqual(await response.json(), { choices: [] })
  })

  test('a request of a `Request`, with a length and a coding', async () => {
    const server = createServer((request, response) => {
      const pieces = []
      request.on('data', (piece) => pieces.push(piece))
      request.on('end', () => {
        const { length } = Buffer.concat(pieces)
        const { 'content-length': said, 'content-encoding': coding } = request.headers
        response.end(JSON.stringify({ length, said, coding, choices: [] }))
      })
    })
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const address = `http://127.0.0.1:${server.address().port}/v1/chat/completions`
      const text = JSON.stringify({ model: 'm', messages: [returned('gone'), user] })
      const packed = new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'))
      const body = new Uint8Array(await new Response(packed).arrayBuffer())
      const request = new Request(address, {
        method: 'POST',
        headers: { 'content-encoding': 'gzip' },
        body,
      })
      const answer = await (await guardFetch()(request)).json()
      assert.equal(answer.coding, undefined)
      assert.equal(Number(answer.said), answer.length)
      assert.ok(answer.length < text.length, 'without the orphan')
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  test('other requests pass as they are', async () => {
    const seen = []
    const send = async (...given) => (seen.push(given), new Response('x'))
    const fetch = guardFetch(send)
    const requests = [
      ['https://x.example/v1/models', undefined],
      ['https://x.example/v1/embeddings', { method: 'POST', body: '{}' }],
      ['https://x.example/v1/chat/completions', { method: 'GET' }],
      [new URL('https://x.example/v1/threads/t/messages'), { method: 'POST', body: '{}' }],
    ]
    for (const given of requests) await fetch(...given)
    assert.deepEqual(seen, requests)
    for (const [at, [input, init]] of requests.entries()) {
      assert.equal(seen[at][0], input)
      assert.equal(seen[at][1], init)
    }
  })

  test('an error of the network, and an abort, are those of the client', async () => {
    const error = new TypeError('fetch failed')
    const reports = []
    const onReport = (report) => reports.push(report)
    const failing = guardFetch(() => Promise.reject(error), { onReport })
    const address = 'https://x.example/v1/messages'
    const init = { method: 'POST', body: '{"messages":[]}' }
    await assert.rejects(failing(address, init), (thrown) => thrown === error)
    assert.equal(reports[0].outcome, 'failed')
    const { base, fetch } = sessionOf('stall')
    const left = new AbortController()
    const response = await fetch(`${base}/v1/chat/completions`, {
      ...init,
      body: JSON.stringify({ model: 'm', stream: true, messages: [user] }),
      signal: left.signal,
    })
    const reader = response.body.getReader()
    await reader.read()
    const rest = (async () => {
      while (!(await reader.read()).done);
    })()
    left.abort()
    await assert.rejects(rest, { name: 'AbortError' })
  })

  test('an error of the provider passes with its status and its words', async () => {
    const { base, fetch } = sessionOf('always-401')
    const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'k', fetch, maxRetries: 0 })
    const asked = client.chat.completions.create({ model: 'm', messages: [user] })
    await assert.rejects(asked, OpenAI.AuthenticationError)
  })

  test('the first chunk of a bundle has at most 20 KB, the core is loaded later', async () => {
    const { outputFiles, metafile } = await build({
      stdin: {
        contents: `import { guardFetch } from 'turnlock/guard'; globalThis.send = guardFetch()`,
        resolveDir: import.meta.dirname,
      },
      bundle: true,
      splitting: true,
      minify: true,
      metafile: true,
      format: 'esm',
      write: false,
      outdir: 'out',
    })
    const entry = Object.keys(metafile.outputs).find((name) => metafile.outputs[name].entryPoint)
    const loaded = new Set()
    const load = (name) => {
      if (loaded.has(name)) return
      loaded.add(name)
      for (const { path, kind } of metafile.outputs[name].imports) {
        if (kind === 'import-statement') load(path)
      }
    }
    load(entry)
    const bytes = [...loaded].reduce((sum, name) => sum + metafile.outputs[name].bytes, 0)
    assert.ok(bytes <= 20_480, `${bytes} bytes`)
    const whole = outputFiles.reduce((sum, { contents }) => sum + contents.byteLength, 0)
    assert.ok(whole > 5 * bytes)
  })
})
