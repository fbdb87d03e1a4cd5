// Clients of npm, unmodified, through the proxy: they change their `baseURL` and nothing else.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { ChatAnthropic } from '@langchain/anthropic'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { createHost } from './hosts.mjs'
import { LOOP, looped, model, WIRES } from './wires.mjs'

const BOUND = { mode: 'bound' }
/** A second call beside the one that loops. */
const OTHER = { id: 'call_other', name: 'ls', args: { path: '/other' } }
const ANSWER = 'Here is the answer.'

for (const runtime of ['node', 'workerd']) {
  describe(`clients (${runtime})`, () => {
    let host
    before(async () => (host = await createHost(runtime)))
    after(() => host.close())

    const openai = (apiKey) => new OpenAI({ baseURL: `${host.url}/v1`, apiKey })
    const anthropic = (apiKey) => new Anthropic({ baseURL: host.url, apiKey })

    for (const stream of [true, false]) {
      const how = stream ? 'stream' : 'whole'
      test(`openai, chat, ${how}: a call passes, a repeat is answered`, async () => {
        const upstream = host.script(model(WIRES.chat, [LOOP, OTHER], { stream }))
        const ask = async (times) => {
          const body = WIRES.chat.body(looped(times), { stream })
          const client = openai(upstream.key(BOUND))
          return stream
            ? client.chat.completions.stream(body).finalChatCompletion()
            : client.chat.completions.create(body)
        }
        const passed = await ask(1)
        assert.deepEqual(WIRES.chat.called(passed), ['ls', 'ls'])
        const filtered = await ask(2)
        const [left, ...more] = filtered.choices[0].message.tool_calls
        assert.deepEqual([left.id, more.length], ['call_other', 0])
        assert.deepEqual(JSON.parse(left.function.arguments), OTHER.args)
        assert.equal(filtered.choices[0].finish_reason, 'tool_calls')
        const alone = host.script(model(WIRES.chat, [LOOP], { stream }))
        const client = openai(alone.key(BOUND))
        const body = WIRES.chat.body(looped(2), { stream })
        const forced = stream
          ? await client.chat.completions.stream(body).finalChatCompletion()
          : await client.chat.completions.create(body)
        assert.equal(forced.choices[0].message.content, ANSWER)
        assert.equal(forced.choices[0].finish_reason, 'stop')
        assert.deepEqual(WIRES.chat.called(forced), [])
        // The client asked once; the proxy asked the provider once more, tools kept.
        const [first, second, ...others] = alone.requests.map(({ text }) => JSON.parse(text))
        assert.equal(others.length, 0)
        assert.deepEqual(second, { ...first, tool_choice: 'none' })
        assert.equal((await host.reports(3)).at(-1).forced, 'duplicate')
      })

      test(`anthropic, ${how}: a call passes, a repeat is answered`, async () => {
        const upstream = host.script(
          model(WIRES.messages, [LOOP, OTHER], { stream, text: 'Well. ' }),
        )
        const ask = async (script, times) => {
          const { stream: _, ...body } = WIRES.messages.body(looped(times))
          const client = anthropic(script.key(BOUND))
          return stream
            ? client.messages.stream(body).finalMessage()
            : client.messages.create({ ...body, stream: false })
        }
        assert.deepEqual(WIRES.messages.called(await ask(upstream, 1)), ['ls', 'ls'])
        const filtered = await ask(upstream, 2)
        assert.deepEqual(
          filtered.content.map(({ type, id, input }) => [type, id, input]),
          [
            ['text', undefined, undefined],
            ['tool_use', 'call_other', OTHER.args],
          ],
        )
        assert.equal(filtered.stop_reason, 'tool_use')
        const alone = host.script(model(WIRES.messages, [LOOP], { stream }))
        const forced = await ask(alone, 2)
        assert.equal(WIRES.messages.said(forced), ANSWER)
        assert.equal(forced.stop_reason, 'end_turn')
        assert.deepEqual(WIRES.messages.called(forced), [])
        const [first, second] = alone.requests.map(({ text }) => JSON.parse(text))
        assert.deepEqual(second, { ...first, tool_choice: { type: 'none' } })
        assert.equal((await host.reports(3)).at(-1).forced, 'duplicate')
      })

      test(`openai, responses, ${how}: a call passes, a repeat is answered`, async () => {
        const upstream = host.script(model(WIRES.responses, [LOOP, OTHER], { stream }))
        const ask = async (script, times) => {
          const body = WIRES.responses.body(looped(times), { stream })
          const client = openai(script.key(BOUND))
          return stream
            ? client.responses.stream(body).finalResponse()
            : client.responses.create(body)
        }
        assert.deepEqual(WIRES.responses.called(await ask(upstream, 1)), ['ls', 'ls'])
        const filtered = await ask(upstream, 2)
        assert.deepEqual(
          filtered.output
            .filter(({ type }) => type === 'function_call')
            .map((item) => item.call_id),
          ['call_other'],
        )
        const alone = host.script(model(WIRES.responses, [LOOP], { stream }))
        const forced = await ask(alone, 2)
        assert.equal(forced.output_text, ANSWER)
        assert.equal(forced.status, 'completed')
        assert.deepEqual(WIRES.responses.called(forced), [])
        assert.equal((await host.reports(3)).at(-1).forced, 'duplicate')
      })
    }

    test('ai, openai-compatible: the loop of its own ends with an answer', async () => {
      let calls = 0
      const run = (key, more) => {
        const provider = createOpenAICompatible({
          name: 'p',
          baseURL: `${host.url}/v1`,
          apiKey: key,
        })
        const ls = tool({
          inputSchema: jsonSchema({ type: 'object' }),
          execute: () => {
            calls += 1
            return 'same'
          },
        })
        return streamText({
          model: provider('m'),
          prompt: 'go',
          tools: { ls },
          stopWhen: stepCountIs(9),
          ...more,
        })
      }
      const upstream = host.script(model(WIRES.chat, [LOOP]))
      assert.equal(await run(upstream.key(BOUND)).text, ANSWER)
      assert.equal(calls, 2)
      // In `observe`, the same loop runs until the client ends it.
      calls = 0
      const watched = host.script(model(WIRES.chat, [LOOP]))
      await run(watched.key({ mode: 'observe' })).text
      assert.equal(calls, 9)
      const reports = await host.reports(3 + 9)
      assert.equal(reports.at(-1).blocked[0].repeats, 8)
    })

    test('ai, generateText: a budget ends with an answer', async () => {
      let n = 0
      const upstream = host.script((asked, response) => {
        n += 1
        const own = { ...LOOP, id: `c${n}`, args: { n } }
        return model(WIRES.chat, [own], { stream: false })(asked, response)
      })
      const key = upstream.key({ mode: 'bound', policy: { maxTools: 3 } })
      const provider = createOpenAICompatible({ name: 'p', baseURL: `${host.url}/v1`, apiKey: key })
      const ls = tool({ inputSchema: jsonSchema({ type: 'object' }), execute: () => 'new' })
      const { text, steps } = await generateText({
        model: provider('m'),
        prompt: 'go',
        tools: { ls },
        stopWhen: stepCountIs(9),
      })
      assert.deepEqual([text, steps.length], [ANSWER, 4])
      const last = JSON.parse(upstream.requests.at(-1).text)
      assert.deepEqual([last.tool_choice, last.tools.length], ['none', 1])
      assert.equal((await host.reports(4)).at(-1).forced, 'budget')
    })

    test('langchain: both of its chat models stream through the proxy, and get their answer', async () => {
      const list = {
        name: 'ls',
        description: 'Lists.',
        schema: { type: 'object', properties: {} },
      }
      const history = [
        { role: 'user', content: 'go' },
        ...[0, 1].flatMap((n) => [
          {
            role: 'assistant',
            content: '',
            tool_calls: [{ id: `c${n}`, name: 'ls', args: LOOP.args, type: 'tool_call' }],
          },
          { role: 'tool', tool_call_id: `c${n}`, content: 'same' },
        ]),
      ]
      const chat = host.script(model(WIRES.chat, [LOOP]))
      const messages = host.script(model(WIRES.messages, [LOOP]))
      const models = [
        new ChatOpenAI({
          model: 'm',
          apiKey: chat.key(BOUND),
          maxRetries: 0,
          configuration: { baseURL: `${host.url}/v1` },
        }),
        new ChatAnthropic({
          model: 'claude-m',
          apiKey: messages.key(BOUND),
          maxRetries: 0,
          anthropicApiUrl: host.url,
        }),
      ]
      for (const one of models) {
        const bound = one.bindTools([
          { type: 'function', function: { ...list, parameters: list.schema } },
        ])
        let whole
        for await (const chunk of await bound.stream(history)) whole = whole?.concat(chunk) ?? chunk
        assert.equal(whole.text, ANSWER)
        assert.equal(whole.tool_calls.length, 0)
      }
      await host.reports(2)
    })

    test('curl: a stream arrives byte for byte, an error as the provider wrote it', async () => {
      const bytes = Buffer.from(
        'data: {"choices":[{"delta":{"content":"\u00e4"}}]}\r\n\r\ndata: [DONE]\n\n',
      )
      const upstream = host.script((_, response) => response.end(bytes))
      const run = (path, ...more) =>
        new Promise((resolve) => {
          const key = upstream.key(BOUND)
          const args = ['-sS', '-N', `${host.url}${path}`, '-H', `authorization: Bearer ${key}`]
          const child = spawn('curl', [...args, ...more])
          const pieces = []
          child.stdout.on('data', (piece) => pieces.push(piece))
          child.on('close', () => resolve(Buffer.concat(pieces)))
        })
      const body = JSON.stringify(WIRES.chat.body([]))
      assert.deepEqual(await run(WIRES.chat.path, '-d', body), bytes)
      assert.deepEqual(await run('/v1/anything/else'), bytes)
      await host.reports()
    })

    test('the scripted provider: a looping model behind the proxy answers; its errors are its own', async () => {
      const tools = WIRES.chat.body([]).tools.map((one) => ({
        ...one,
        function: { ...one.function, name: 'list_files' },
      }))
      const client = openai(host.behaviour('loop-then-answer', BOUND))
      const messages = [{ role: 'user', content: 'go' }]
      let rounds = 0
      for (; rounds < 9; rounds++) {
        const run = client.chat.completions.stream({ model: 'm', messages, tools })
        const { message } = (await run.finalChatCompletion()).choices[0]
        messages.push(message)
        if (!message.tool_calls?.length) break
        for (const { id } of message.tool_calls) {
          messages.push({ role: 'tool', tool_call_id: id, content: 'notes.txt' })
        }
      }
      assert.equal(rounds, 2)
      assert.match(messages.at(-1).content, /notes\.txt/)
      for (const [name, wrong] of [
        ['always-401', 'AuthenticationError'],
        ['server-error', 'InternalServerError'],
      ]) {
        const broken = new OpenAI({
          baseURL: `${host.url}/v1`,
          apiKey: host.behaviour(name, BOUND),
          maxRetries: 0,
        })
        const asked = broken.chat.completions.create({
          model: 'm',
          messages: [messages[0]],
          stream: true,
        })
        await assert.rejects(asked, OpenAI[wrong])
      }
      await host.reports(5)
    })
  })
}
