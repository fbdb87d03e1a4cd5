// The text of a streamed response in plain JavaScript, as one would write it without this package:
// lines, `JSON.parse`, nothing checked, nothing repeated, one choice.

/**
 * Gives each piece of text to `take`.
 * @param {Response} response
 * @param {(text: string) => void} take
 */
export async function readText(response, take) {
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      if (!line.startsWith('data: {')) continue
      const text = JSON.parse(line.slice('data: '.length)).choices[0]?.delta.content
      if (text) take(text)
    }
  }
}
