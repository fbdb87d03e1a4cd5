// A `fetch` for what is scripted to break off. A browser throws away what it holds of a response
// when the connection fails, so how much of it was read by then were chance; with this one the
// connection breaks when everything before the break was read. Web standards only, and no import:
// the tests of the Rust driver take this text as it is.

/** As `fetch`; tells the provider when it may cut. */
export async function fetchUpToTheCut(address, init) {
  const request = new Request(address, init)
  request.headers.set('x-cut', 'when told')
  const response = await fetch(request)
  const before = response.headers.get('x-cut-behind')
  if (before === null) return response
  const [session] = /^.*?\/s\/[^/]+/.exec(request.url)
  const reader = response.body.getReader()
  let read = 0
  const body = new ReadableStream(
    {
      async pull(controller) {
        // Whoever asks for more has had what came before.
        if (read === Number(before)) await fetch(`${session}/cut`, { method: 'POST' })
        const { done, value } = await reader.read()
        if (done) return controller.close()
        read += value.length
        controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return new Response(body, response)
}
