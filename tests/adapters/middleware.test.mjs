// The middleware under unmodified `streamText` and `generateText` of AI SDK 6 and 7, before the
// scripted provider.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { createOpenAICompatible as compatible7 } from '@ai-sdk/openai-compatible'
import * as ai7 from 'ai'
import * as ai6 from 'ai6'
import { createOpenAICompatible as compatible6 } from 'ai6-compatible'
import { diagnoseHistory } from 'turnlock'
import { turnlockMiddleware } from 'turnlock/ai-sdk'
import { z } from 'zod'
import { createProvider } from '../provider/server.mjs'

const VERSIONS = { 'AI SDK 6': [ai6, compatible6], 'AI SDK 7': [ai7, compatible7] }
let provider
before(async () => (provider = await createProvider()))
after(() => provider?.close())

/** What one call of `how` comes to, and what the provider was sent. */
async function play(
  [ai, compatible],
  how,
  behaviour,
  { messages, ...options } = {},
  inputSchema = ai.jsonSchema({ type: 'object' }),
) {
  const session = crypto.randomUUID()
  const reports = []
  const own = compatible({
    name: 'scripted',
    apiKey: 'secret',
    includeUsage: true,
    baseURL: `${provider.url}/s/${session}/${behaviour}/v1`,
  })
  const model = ai.wrapLanguageModel({
    model: own.chatModel('scripted'),
    middleware: turnlockMiddleware({ ...options, onReport: (report) => reports.push(report) }),
  })
  const runs = []
  const tool = (name) => ({
    inputSchema,
    execute: (args) => (runs.push(`${name} ${JSON.stringify(args)}`), ['notes.txt']),
  })
  const tools = { list_files: tool('list_files'), read_file: tool('read_file') }
  const result = await ai[how]({
    model,
    tools,
    stopWhen: ai.stepCountIs(8),
    maxRetries: 0,
    messages: messages ?? [{ role: 'user', content: 'look' }],
  })
  const text = await result.text
  const usage = await result.totalUsage
  return { text, usage, runs, reports, requests: provider.requests(session) }
}

for (const [version, sdk] of Object.entries(VERSIONS)) {
  for (const how of ['streamText', 'generateText']) {
    test(`${version}, ${how}: a looping model runs its call once, and answers`, async () => {
      const { text, runs, requests, reports } = await play(sdk, how, 'loop-then-answer')
      assert.match(text, /^From the tool results .* That answers it\.$/)
      assert.deepEqual(runs, ['list_files {"path":".","recursive":true}'])
      assert.deepEqual(
        requests.map(({ choice }) => choice),
        ['auto', 'none'],
      )
      assert.deepEqual(requests[1].tools, requests[0].tools, 'the tools stay declared')
      assert.deepEqual(
        reports.map(({ answerPhase }) => answerPhase),
        [false, true],
      )
      for (const { messages } of requests) {
        assert.deepEqual(diagnoseHistory(messages, { dialect: 'openai-chat' }), [])
      }
    })

    test(`${version}, ${how}: a repeat is one, whatever the tool's schema makes of it`, async () => {
      const schemas = [
        z.object({ path: z.string(), depth: z.number().default(3) }),
        z.object({ path: z.string() }), // takes a member out
        z.looseObject({ path: z.string().transform((path) => `${path}/`) }),
      ]
      for (const inputSchema of schemas) {
        const played = await play(sdk, how, 'loop-then-answer', { maxTools: 5 }, inputSchema)
        assert.equal(played.runs.length, 1, played.runs.join('\n'))
        assert.match(played.text, /That answers it\.$/)
      }
    })

    test(`${version}, ${how}: a repeat within the budget is refused, and the answer asked for`, async () => {
      const played = await play(sdk, how, 'loop-then-answer', { maxTools: 3 })
      const { text, runs, requests, reports, usage } = played
      assert.match(text, /That answers it\.$/)
      assert.equal(runs.length, 1)
      assert.deepEqual(
        requests.map(({ choice }) => choice),
        ['auto', 'auto', 'none'],
      )
      const [refused] = reports[1].refused
      assert.deepEqual([refused.toolName, refused.reason], ['list_files', 'duplicate'])
      assert.match(
        JSON.stringify(requests[2].messages.at(-1)),
        /did not run: the result of the same call/,
      )
      assert.deepEqual(diagnoseHistory(requests[2].messages, { dialect: 'openai-chat' }), [])
      if (how === 'streamText') {
        // Of three responses; the provider counts none that is not streamed.
        assert.deepEqual([usage.inputTokens, usage.outputTokens], [30, 15])
      }
    })

    test(`${version}, ${how}: of two calls in one response, only the budget runs`, async () => {
      const { text, runs, reports } = await play(sdk, how, 'thinks')
      assert.match(text, /That answers it\.$/)
      assert.deepEqual(runs, ['list_files {"path":".","recursive":true}'])
      assert.deepEqual(
        reports[0].refused.map(({ toolName, reason }) => [toolName, reason]),
        [['read_file', 'budget']],
      )
    })

    test(`${version}, ${how}: calls of an earlier message of the user count for nothing`, async () => {
      const call = { toolCallId: 'c1', toolName: 'list_files' }
      const output = { type: 'json', value: ['old.txt'] }
      const messages = [
        { role: 'user', content: 'look' },
        {
          role: 'assistant',
          content: [{ type: 'tool-call', ...call, input: { path: '.', recursive: true } }],
        },
        { role: 'tool', content: [{ type: 'tool-result', ...call, output }] },
        { role: 'assistant', content: 'Done.' },
        { role: 'user', content: 'again' },
      ]
      const { runs, requests } = await play(sdk, how, 'loop-then-answer', { messages })
      assert.equal(runs.length, 1)
      assert.equal(requests.length, 2)
    })
  }

  test(`${version}: broken histories are repaired, and whole ones sent as they are`, async () => {
    const call = (id) => ({ type: 'tool-call', toolCallId: id, toolName: 'list_files', input: {} })
    const result = (id, value) => ({
      type: 'tool-result',
      toolCallId: id,
      toolName: 'list_files',
      output: { type: 'text', value },
    })
    const prompt = [
      { role: 'user', content: [{ type: 'text', text: 'look' }] },
      { role: 'tool', content: [result('gone', 'x')] },
      { role: 'assistant', content: [call('c1'), call('c2')] },
      { role: 'tool', content: [result('c1', 'one'), result('c1', 'one again')] },
      { role: 'assistant', content: [call('c3')] },
      { role: 'user', content: [{ type: 'text', text: 'well?' }] },
      { role: 'tool', content: [result('c3', 'three')] },
    ]
    const middleware = turnlockMiddleware()
    const reports = []
    const told = turnlockMiddleware({ onReport: (report) => reports.push(report) })
    const fixed = await told.transformParams({ type: 'generate', params: { prompt }, model: {} })
    await told.wrapGenerate({ doGenerate: async () => ({ content: [] }), params: fixed, model: {} })
    assert.deepEqual(
      reports[0].repairs.map(({ code, toolCallId }) => `${code} ${toolCallId}`),
      [
        'TOOL_CALL_UNANSWERED c2',
        'TOOL_RESULT_MOVED c3',
        'TOOL_RESULT_ORPHAN gone',
        'TOOL_RESULT_DUPLICATE c1',
      ],
    )
    assert.deepEqual(
      fixed.prompt.map(
        ({ role, content }) => `${role} ${content.map((one) => one.toolCallId ?? '').join()}`,
      ),
      ['user ', 'assistant c1,c2', 'tool c1,c2', 'assistant c3', 'tool c3', 'user '],
    )
    const again = await middleware.transformParams({ params: { prompt: fixed.prompt } })
    assert.deepEqual(again.prompt, fixed.prompt)
    again.prompt.forEach((message, at) => assert.equal(message, fixed.prompt[at], 'untouched'))
  })
}

test('misuse is named', () => {
  for (const options of [{ maxTools: -1 }, { maxTool: 2 }]) {
    assert.throws(() => turnlockMiddleware(options), { code: 'options.invalid' })
  }
})
