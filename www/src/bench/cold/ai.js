import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { streamText } from 'ai'
import { config } from 'zod'
import { baseURL, fetch, messages } from './response.js'

// As in `peers.js`.
config({ jitless: true })

export async function first() {
  const model = createOpenAICompatible({ name: 'm', baseURL, fetch })('m')
  const { textStream } = streamText({ model, messages })
  for await (const text of textStream) return text
}
