import { createParser } from 'eventsource-parser'
import { fetch } from './response.js'

export async function first() {
  let said = ''
  const parser = createParser({
    onEvent({ data }) {
      if (data !== '[DONE]') said += JSON.parse(data).choices[0].delta.content ?? ''
    },
  })
  const decoder = new TextDecoder()
  const reader = (await fetch()).body.getReader()
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parser.feed(decoder.decode(part.value, { stream: true }))
  }
  return said
}
