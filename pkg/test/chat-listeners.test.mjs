// Listeners of a chat that throw. Sources: assistant-ui/assistant-ui#5175 (2026-07-26) and
// cssbruno/GoWDK#528 (2026-06-20): one that throws keeps the news from the others. Read on 2026-11-29.
import assert from 'node:assert/strict'
import test from 'node:test'
import { customModel, runTurn } from 'turnlock'
import { createChat } from 'turnlock/chat'

test('chat: a listener that throws or rejects ends neither the turn nor the others', async () => {
  const model = customModel(async function* () {
    yield { type: 'text', text: 'hello' }
  })
  const chat = createChat({ turns: { run: (own) => runTurn({ model, ...own }) }, throttleMs: 0 })
  const seen = []
  chat.subscribe(() => {
    throw new Error('planned')
  })
  chat.subscribe(() => Promise.reject(new Error('planned')))
  const over = new Promise((resolve) => {
    chat.subscribe(() => {
      const { status } = chat.getSnapshot()
      seen.push(status)
      if (status !== 'running') resolve(status)
    })
  })
  assert.equal(chat.send('go'), true)
  assert.equal(await over, 'complete')
  assert.equal(seen[0], 'running')
  assert.equal(chat.getSnapshot().messages.at(-1).text, 'hello')
})
