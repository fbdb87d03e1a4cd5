import { init, openaiChat, runTurn } from 'turnlock/slim'

/** A turn of `turnlock/slim`, with the core from this address. */
export async function runWith(address) {
  await init(fetch(address))
  const body = 'data: {"choices":[{"delta":{"content":"slim"}}]}\n\ndata: [DONE]\n\n'
  const headers = { 'content-type': 'text/event-stream' }
  const fetched = async () => new Response(body, { headers })
  const model = openaiChat({ baseURL: 'http://model.example/v1', model: 'm', fetch: fetched })
  const { text } = await runTurn({ model, messages: [{ role: 'user', content: 'hi' }] }).result
  return text
}
