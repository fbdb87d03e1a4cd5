// `guardTools` around unmodified tools of the AI SDK 6 and 7, before the scripted provider.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { createOpenAICompatible as compatible7 } from '@ai-sdk/openai-compatible'
import * as ai7 from 'ai'
import * as ai6 from 'ai6'
import { createOpenAICompatible as compatible6 } from 'ai6-compatible'
import { memoryStore } from 'turnlock'
import { guardTools } from 'turnlock/guard'
import { z } from 'zod'
import { createProvider } from '../provider/server.mjs'

const VERSIONS = { 'AI SDK 6': [ai6, compatible6], 'AI SDK 7': [ai7, compatible7] }
let provider
before(async () => (provider = await createProvider()))
after(() => provider?.close())

const NOTICE = /^The call to list_files did not run: the result of the same call is already at hand/

const modelOf = (compatible, behaviour, session = crypto.randomUUID()) => ({
  session,
  model: compatible({
    name: 'scripted',
    apiKey: 'secret',
    baseURL: `${provider.url}/s/${session}/${behaviour}/v1`,
  }).chatModel('scripted'),
})

/** Two tools that count their runs. */
function toolsOf(ai, more = {}) {
  const runs = []
  const tool = (name) =>
    ai.tool({
      description: name,
      inputSchema: z.object({ path: z.string(), recursive: z.boolean().optional() }),
      execute: async (args) => (runs.push(`${name} ${args.path}`), ['notes.txt']),
      ...more,
    })
  return { runs, tools: { list_files: tool('list_files'), read_file: tool('read_file') } }
}

const look = () => [{ role: 'user', content: 'look' }]
const results = ({ steps }) =>
  steps.flatMap(({ content }) => content.filter(({ type }) => /^tool-(result|error)$/.test(type)))

for (const [version, [ai, compatible]] of Object.entries(VERSIONS)) {
  for (const how of ['generateText', 'streamText']) {
    test(`${version}, ${how}: a tool without flags runs once, repeats get a notice`, async () => {
      const { runs, tools } = toolsOf(ai)
      const { model } = modelOf(compatible, 'loop')
      const result = await ai[how]({
        model,
        messages: look(),
        tools: guardTools(tools),
        stopWhen: ai.stepCountIs(25),
      })
      const steps = await result.steps
      assert.equal(steps.length, 25)
      assert.deepEqual(runs, ['list_files .'])
      const [first, ...others] = results({ steps }).map(({ output }) => output)
      assert.deepEqual(first, ['notes.txt'])
      for (const other of others) assert.match(other, NOTICE)
    })
  }

  test(`${version}: a read-only tool runs twice, then its result is repeated`, async () => {
    const { runs, tools } = toolsOf(ai)
    const { model } = modelOf(compatible, 'loop')
    const policy = { tools: { list_files: { readOnly: true } } }
    const guarded = guardTools(tools, { policy })
    const { steps } = await ai.generateText({
      model,
      messages: look(),
      tools: guarded,
      stopWhen: ai.stepCountIs(6),
    })
    assert.equal(runs.length, 2)
    assert.deepEqual(
      results({ steps }).map(({ output }) => output),
      Array(6).fill(['notes.txt']),
    )
  })

  test(`${version}: the next message of the user begins a window, a retry does not`, async () => {
    const { runs, tools } = toolsOf(ai)
    const store = memoryStore()
    const ask = (content, history = []) => {
      const { model } = modelOf(compatible, 'loop-then-answer')
      // As a server does: for each request.
      const guarded = guardTools(tools, { store, conversationId: 'one' })
      const messages = [...history, { role: 'user', content }]
      return ai.generateText({
        model,
        messages,
        tools: guarded,
        stopWhen: ai.stepCountIs(2),
      })
    }
    const { response } = await ask('look')
    assert.equal(runs.length, 1)
    const again = await ask('look')
    assert.equal(runs.length, 1, 'a retry gets the recorded outcome')
    assert.deepEqual(results(again)[0].output, ['notes.txt'])
    assert.match(results(again)[1].output, NOTICE, 'which the model then has')
    const history = [{ role: 'user', content: 'look' }, ...response.messages]
    await ask('look', history)
    assert.equal(runs.length, 2, 'the second message')
    const other = guardTools(tools, { store, conversationId: 'two' })
    const { model } = modelOf(compatible, 'one-call')
    await ai.generateText({ model, messages: look(), tools: other, stopWhen: ai.stepCountIs(2) })
    assert.equal(runs.length, 3, 'another conversation')
  })

  test(`${version}: two users with the same words share nothing`, async () => {
    const { runs, tools } = toolsOf(ai)
    const guarded = guardTools(tools)
    for (let user = 1; user <= 2; user++) {
      const { model } = modelOf(compatible, 'one-call')
      const stopWhen = ai.stepCountIs(2)
      await ai.generateText({ model, prompt: 'look', tools: guarded, stopWhen })
      assert.equal(runs.length, user)
    }
  })

  test(`${version}: equal calls at the same time start once`, async () => {
    const runs = []
    const execute = async ({ n }) => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      return runs.push(n)
    }
    const store = memoryStore()
    const options = { store, conversationId: 'c' }
    const call = { toolCallId: 'call_1', messages: look() }
    const outputs = await Promise.all(
      [1, 2, 3].map(() => {
        const { add } = guardTools(
          { add: ai.tool({ inputSchema: z.object({ n: z.number() }), execute }) },
          options,
        )
        return add.execute({ n: 7 }, call)
      }),
    )
    assert.deepEqual(outputs, [1, 1, 1])
    assert.deepEqual(runs, [7])
  })

  test(`${version}: a tool that streams still streams, through a function too`, async () => {
    const generate = async function* ({ path }) {
      for (const state of ['a', 'b']) yield `${path} ${state}`
    }
    for (const execute of [generate, (input) => generate(input)]) {
      for (const options of [{}, { store: memoryStore(), conversationId: 'c' }]) {
        const { model } = modelOf(compatible, 'one-call')
        const tool = ai.tool({ inputSchema: z.object({ path: z.string() }), execute })
        const result = ai.streamText({
          model,
          messages: look(),
          tools: guardTools({ list_files: tool, read_file: tool }, options),
          stopWhen: ai.stepCountIs(2),
        })
        const seen = []
        for await (const part of result.fullStream) {
          if (part.type === 'tool-result') seen.push([part.output, part.preliminary ?? false])
        }
        const isShown = execute === generate || !options.store
        const shown = [
          [/a$/, true],
          [/b$/, true],
          [/b$/, false],
        ].slice(isShown ? 0 : 2)
        assert.equal(seen.length, shown.length)
        for (const [at, [text, preliminary]] of shown.entries()) {
          assert.match(seen[at][0], text)
          assert.equal(seen[at][1], preliminary)
        }
      }
    }
  })

  test(`${version}: ask becomes needsApproval, and an approved call runs`, async () => {
    const { runs, tools } = toolsOf(ai)
    const policy = { tools: { list_files: { needsApproval: true } } }
    const guarded = guardTools(tools, { policy })
    const { model } = modelOf(compatible, 'one-call')
    const first = await ai.generateText({
      model,
      messages: look(),
      tools: guarded,
      stopWhen: ai.stepCountIs(3),
    })
    const request = first.content.find(({ type }) => type === 'tool-approval-request')
    assert.ok(request)
    assert.deepEqual(runs, [])
    const answered = (approved) => {
      const response = { type: 'tool-approval-response', approvalId: request.approvalId, approved }
      return [...look(), ...first.response.messages, { role: 'tool', content: [response] }]
    }
    const go = (messages) => {
      const { model } = modelOf(compatible, 'answer')
      return ai.generateText({ model, messages, tools: guardTools(tools, { policy }) })
    }
    await go(answered(false))
    assert.deepEqual(runs, [])
    await go(answered(true))
    assert.equal(runs.length, 1)
    const { execute } = guardTools(tools, { policy }).list_files
    const unasked = await execute({ path: '.' }, { toolCallId: 'x', messages: look() })
    assert.match(unasked, /it was not approved/, 'where nobody asks, it does not run')
    assert.equal(runs.length, 1)
  })

  test(`${version}: names, schemas, hidden members and tools without execute stay`, () => {
    const { tools } = toolsOf(ai)
    const hidden = Symbol('hidden')
    Object.defineProperty(tools.list_files, hidden, { value: 1 })
    tools.pick = ai.tool({ inputSchema: z.object({}) })
    const guarded = guardTools(tools)
    assert.deepEqual(Object.keys(guarded), Object.keys(tools))
    assert.equal(guarded.pick, tools.pick)
    assert.equal(guarded.list_files[hidden], 1)
    const { execute: _, ...members } = guarded.list_files
    const { execute: __, ...own } = tools.list_files
    assert.deepEqual(members, own)
    assert.notEqual(guarded.list_files, tools.list_files)
  })

  test(`${version}: an error reaches the model once, with its own message`, async () => {
    const error = new Error('the disk is full')
    const { tools } = toolsOf(ai, { execute: () => Promise.reject(error) })
    const { model } = modelOf(compatible, 'loop')
    const { steps } = await ai.generateText({
      model,
      messages: look(),
      tools: guardTools(tools),
      stopWhen: ai.stepCountIs(2),
    })
    const [first, second] = results({ steps })
    assert.equal(first.error, error)
    assert.match(second.output, NOTICE)
  })

  test(`${version}: a tool with a typed result gets its notice as an error`, async () => {
    const { tools } = toolsOf(ai, { outputSchema: z.array(z.string()) })
    const { model } = modelOf(compatible, 'loop')
    const { steps } = await ai.generateText({
      model,
      messages: look(),
      tools: guardTools(tools),
      stopWhen: ai.stepCountIs(2),
    })
    assert.match(results({ steps })[1].error.message, NOTICE)
  })
}
