// Those who read a streamed response; for `benches/stream.mjs` and the page.
import { createParser } from 'eventsource-parser'
import { decodeStream, openaiChat, runTurn } from 'turnlock'
import { fetchOf, messages } from './response.mjs'

export * from './response.mjs'

/** The floor: what any reader does at least. */
export const FLOOR = 'eventsource-parser + JSON.parse'

/** Each gives the length of the text it saw, so that none can skip its work. */
export const SUBJECTS = {
  [FLOOR]: async (chunks) => {
    let length = 0
    const decoder = new TextDecoder()
    const parser = createParser({
      onEvent({ data }) {
        if (data !== '[DONE]') length += JSON.parse(data).choices[0].delta.content?.length ?? 0
      },
    })
    for (const chunk of chunks) parser.feed(decoder.decode(chunk, { stream: true }))
    return length
  },
  'turnlock decodeStream': async (chunks) => {
    let length = 0
    const decoder = decodeStream('openai-chat')
    const take = (delta) => {
      if (delta.type === 'text') length += delta.text.length
    }
    for (const chunk of chunks) decoder.feed(chunk).forEach(take)
    decoder.end().forEach(take)
    return length
  },
  'turnlock runTurn (events read)': async (chunks) => {
    let length = 0
    const model = openaiChat({ baseURL: 'http://x/v1', model: 'm', fetch: fetchOf(chunks) })
    for await (const event of runTurn({ model, messages })) {
      if (event.type === 'text') length += event.chunk.length
    }
    return length
  },
}
