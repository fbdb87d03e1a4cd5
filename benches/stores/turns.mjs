// Whole turns, one after the other or side by side, in any runtime: a call of one tool, then an
// answer of 20 pieces, from a model that answers at once.
import { customModel, defineTool, runTurn } from 'turnlock'

const ANSWER = 'The quick brown fox jumps over the lazy dog, and over it again at that. '
const PIECES = [...ANSWER.match(/\S+ /g), ...ANSWER.match(/\S+ /g)].slice(0, 20)

const model = customModel(async function* ({ tools }) {
  if (!tools?.length) {
    for (const text of PIECES) yield { type: 'text', text }
    return
  }
  yield { type: 'text', text: 'Let me look. ' }
  yield { type: 'tool_call_start', index: 0, id: 'call_1', name: 'look' }
  yield { type: 'tool_call_arguments', index: 0, text: '{"at":"the garden"}' }
})
const look = defineTool({
  description: 'Looks.',
  readOnly: true,
  inputSchema: { type: 'object', properties: { at: { type: 'string' } } },
  execute: ({ at }) => ({ at, weather: 'fine', trees: ['oak', 'elm', 'ash'] }),
})
const messages = [{ role: 'user', content: 'What does it look like?' }]

let ids = 0
async function one(store, keep) {
  const requestId = `${Date.now().toString(36)}-${ids++}`
  const turn = runTurn({
    model,
    messages,
    tools: { look },
    requestId,
    ...(store && { store, keep }),
  })
  let length = 0
  for await (const event of turn) if (event.type === 'text') length += event.chunk.length
  const { status, fullContent } = await turn.result
  if (status !== 'complete' || fullContent.length !== length)
    throw new Error(`${status}: ${length}`)
}

/** Runs `count` turns, `lanes` at a time. */
export async function runTurns(count, { store, keep, lanes = 1 } = {}) {
  let left = count
  const lane = async () => {
    while (left-- > 0) await one(store, keep)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

/** Runs turns one after the other, and tells what was written; without a store, nothing. */
export async function countedTurns(count, store, keep) {
  const written = { commits: 0, bytes: 0 }
  const commit = (turn, one) => {
    written.commits++
    const texts = [one.state ?? '', one.events?.text ?? '', ...one.records.flat()]
    for (const text of texts) written.bytes += text.length
    return store.commit(turn, one)
  }
  await runTurns(count, store ? { store: { ...store, commit }, keep } : {})
  return written
}
