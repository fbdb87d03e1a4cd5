/** A fetch that answers as OpenAI would, and `sent()`: the messages it was asked with. */
export function recorder() {
  let body
  return {
    fetch: async (_url, init) => {
      body = JSON.parse(init.body)
      const message = { role: 'assistant', content: 'ok' }
      return Response.json({
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      })
    },
    sent: () => body.messages,
  }
}
