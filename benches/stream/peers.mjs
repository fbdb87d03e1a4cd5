// The same response, read by packages of others.
import { chat } from '@tanstack/ai'
import { createOpenaiChatCompletions } from '@tanstack/ai-openai'
import OpenAI from 'openai'
import { SUBJECTS as AI } from './ai.mjs'
import { fetchOf, messages } from './response.mjs'

const own = (chunks) => ({
  baseURL: 'http://x/v1',
  fetch: fetchOf(chunks),
  dangerouslyAllowBrowser: true,
})

export const SUBJECTS = {
  'openai SDK (chunks read)': async (chunks) => {
    let length = 0
    const client = new OpenAI({ apiKey: 'none', ...own(chunks) })
    const stream = await client.chat.completions.create({ model: 'm', messages, stream: true })
    for await (const { choices } of stream) length += choices[0]?.delta.content?.length ?? 0
    return length
  },
  '@tanstack/ai chat (chunks read)': async (chunks) => {
    let length = 0
    const adapter = createOpenaiChatCompletions('gpt-4.1', 'none', own(chunks))
    for await (const chunk of chat({ adapter, messages })) {
      if (chunk.type === 'TEXT_MESSAGE_CONTENT') length += chunk.delta.length
    }
    return length
  },
  ...AI,
}
