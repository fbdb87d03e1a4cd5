const line = (delta, finish_reason = null) => {
  const head = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }
  return `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason }] })}\n\n`
}
const text = `${line({ role: 'assistant', content: 'hello' })}${line({}, 'stop')}data: [DONE]\n\n`

export const baseURL = 'http://model/v1'
export const messages = [{ role: 'user', content: 'go' }]
export const fetch = async () =>
  new Response(text, { headers: { 'content-type': 'text/event-stream' } })
