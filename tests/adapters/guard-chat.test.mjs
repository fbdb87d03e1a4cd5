// `guardToolCall` in `onToolCall` of unmodified chats of the AI SDK 6 and 7: the stream that a chat
// resumes fires it again.
import assert from 'node:assert/strict'
import test from 'node:test'
import { Chat as Chat7 } from '@ai-sdk/react'
import { Chat as Chat6 } from 'ai-react6'
import { memoryStore } from 'turnlock'
import { guardToolCall } from 'turnlock/guard'

const CHUNKS = [
  { type: 'start', messageId: 'm1' },
  { type: 'start-step' },
  { type: 'tool-input-start', toolCallId: 'call_1', toolName: 'locate' },
  {
    type: 'tool-input-available',
    toolCallId: 'call_1',
    toolName: 'locate',
    input: { exact: true },
  },
  { type: 'finish-step' },
  { type: 'finish' },
]
const stream = () =>
  new ReadableStream({
    start(controller) {
      for (const chunk of CHUNKS) controller.enqueue(chunk)
      controller.close()
    },
  })
const transport = { sendMessages: async () => stream(), reconnectToStream: async () => stream() }

for (const [version, Chat] of Object.entries({ 'AI SDK 6': Chat6, 'AI SDK 7': Chat7 })) {
  for (const isReloaded of [false, true]) {
    const what = isReloaded ? 'a page that is loaded again' : 'a chat that resumes'
    test(`${version}: ${what} runs a call once`, async () => {
      const store = memoryStore()
      let [fired, runs] = [0, 0]
      const chatOf = (messages = []) => {
        const chat = new Chat({
          id: version + what,
          messages,
          transport,
          async onToolCall({ toolCall }) {
            fired += 1
            const run = async ({ exact }) => ({ exact, runs: ++runs })
            // Another page has another object for the same database.
            const options = { store: isReloaded ? { ...store } : store }
            const outcome = await guardToolCall(toolCall, run, options)
            const { toolCallId, toolName: tool } = toolCall
            void chat.addToolOutput({ tool, toolCallId, output: outcome.result })
          },
        })
        return chat
      }
      const first = chatOf()
      await first.sendMessage({ text: 'where am I?' })
      const second = isReloaded ? chatOf(first.messages.slice(0, 1)) : first
      await second.resumeStream()
      assert.equal(fired, 2, 'the chat fires again')
      assert.equal(runs, 1)
      for (const { messages } of [first, second]) {
        const part = messages.at(-1).parts.find(({ type }) => type === 'tool-locate')
        assert.deepEqual([part.state, part.output], ['output-available', { exact: true, runs: 1 }])
      }
    })
  }
}
