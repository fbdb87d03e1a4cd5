// The same response, read by the npm package `ai`.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { streamText } from 'ai'
import { fetchOf, messages } from './response.mjs'

export const SUBJECTS = {
  'ai streamText (text read)': async (chunks) => {
    let length = 0
    const provider = createOpenAICompatible({
      name: 'x',
      baseURL: 'http://x/v1',
      fetch: fetchOf(chunks),
    })
    const { textStream } = streamText({ model: provider('m'), messages })
    for await (const text of textStream) length += text.length
    return length
  },
}
