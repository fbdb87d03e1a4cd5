import { decodeStream } from 'turnlock'

export const run = () => {
  const decoder = decodeStream('openai-chat')
  const bytes = new TextEncoder().encode('data: {"choices":[{"delta":{"content":"hi"}}]}\n\n')
  return decoder
    .feed(bytes)
    .map(({ text }) => text)
    .join()
}
