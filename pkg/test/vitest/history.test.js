// Run by vitest, as a user's test: two of the three expectations do not hold.
import { expect, test } from 'vitest'
import { historyMatchers } from 'turnlock/testing'

expect.extend(historyMatchers)
const user = { role: 'user', content: 'go' }
const orphan = { role: 'tool', tool_call_id: 'lost', content: '42' }

test('what holds', () => {
  expect([user]).toBeValidHistory('anthropic')
  expect([user, orphan]).not.toBeValidHistory('openai-chat')
})
test('an orphan', () => expect([user, orphan]).toBeValidHistory('openai-chat'))
test('no orphan', () => expect([user]).not.toBeValidHistory('openai-chat'))
