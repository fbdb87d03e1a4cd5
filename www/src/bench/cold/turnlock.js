import { openaiChat, runTurn } from 'turnlock'
import { baseURL, fetch, messages } from './response.js'

export async function first() {
  const turn = runTurn({ model: openaiChat({ baseURL, model: 'm', fetch }), messages })
  for await (const event of turn) if (event.type === 'text') return event.chunk
}
