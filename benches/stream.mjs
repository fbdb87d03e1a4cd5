// Time per streamed text event: ours beside eventsource-parser + JSON.parse and beside
// `streamText` of the npm package `ai`. All in one process, interleaved, best of the rounds;
// read the ratios. npm run bench
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { streamText } from 'ai'
import { createParser } from 'eventsource-parser'
import { decodeStream, openaiChat, runTurn } from 'turnlock'

const EVENTS = 4_000
const ROUNDS = Number(process.env.ROUNDS ?? 15)
const encoder = new TextEncoder()
const WORDS = 'The quick brown fox jumps over the lazy dog, naïve as ever. '.match(/\S+ /g)

/** A response as OpenAI streams it, `size` events a chunk. */
function response(size) {
  const head = {
    ...{ id: 'chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT', object: 'chat.completion.chunk' },
    ...{ created: 1741569952, model: 'gpt-4.1-2025-04-14', system_fingerprint: 'fp_44709d6fcb' },
  }
  const chunk = (delta, finish_reason = null) =>
    `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason }] })}\n\n`
  const events = [chunk({ role: 'assistant', content: '' })]
  for (let i = 0; i < EVENTS; i++) events.push(chunk({ content: WORDS[i % WORDS.length] }))
  events.push(chunk({}, 'stop'), 'data: [DONE]\n\n')
  const chunks = []
  for (let at = 0; at < events.length; at += size) {
    chunks.push(encoder.encode(events.slice(at, at + size).join('')))
  }
  return chunks
}

const LENGTH = Array.from({ length: EVENTS }, (_, i) => WORDS[i % WORDS.length]).join('').length

/** A fetch that answers with the chunks, as fast as they are read. */
const fetchOf = (chunks) => async () => {
  let at = 0
  const body = new ReadableStream({
    pull(controller) {
      if (at < chunks.length) controller.enqueue(chunks[at++])
      else controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

const messages = [{ role: 'user', content: 'go' }]

/** Each gives the length of the text it saw, so that none can skip its work. */
const SUBJECTS = {
  'eventsource-parser + JSON.parse': async (chunks) => {
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

const round = (value) => value.toFixed(2).padStart(7)
for (const size of [1, 16]) {
  const chunks = response(size)
  const best = Object.fromEntries(Object.keys(SUBJECTS).map((name) => [name, Infinity]))
  for (let i = 0; i < ROUNDS; i++) {
    for (const [name, subject] of Object.entries(SUBJECTS)) {
      const started = performance.now()
      const length = await subject(chunks)
      const micros = ((performance.now() - started) * 1000) / EVENTS
      if (length !== LENGTH) throw new Error(`${name} saw ${length} of ${LENGTH} characters`)
      best[name] = Math.min(best[name], micros)
    }
  }
  console.log(
    `\n${size} event${size > 1 ? 's' : ''} a chunk, ${EVENTS} events, best of ${ROUNDS} (Node ${process.versions.node})`,
  )
  const floor = best['eventsource-parser + JSON.parse']
  for (const [name, micros] of Object.entries(best)) {
    console.log(
      `  ${name.padEnd(34)} ${round(micros)} µs/event  ${round(micros / floor)} × the floor`,
    )
  }
}
