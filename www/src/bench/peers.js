// What the npm package `ai` does of the same work: a chunk of its own, loaded when it is asked for.
import { convertToModelMessages } from 'ai'
import { config } from 'zod'
import { SUBJECTS } from '../../../benches/stream/ai.mjs'

// The content security policy of the page allows no code that is made of texts.
config({ jitless: true })

export const streams = SUBJECTS
export const histories = (messages) => ({
  'ai convertToModelMessages': () => convertToModelMessages(messages),
})
