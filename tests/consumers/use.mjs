// What each consumer does with the installed package: a turn with a tool, a turn whose core traps,
// and one more turn.
import { canonicalize, customModel, defineTool, runTurn } from 'turnlock'
import { turn as part } from 'turnlock/parts/turn'

const look = defineTool({
  description: 'Looks.',
  inputSchema: { type: 'object' },
  readOnly: true,
  execute: () => canonicalize('{ "b": 1.0 }'),
})

async function* answering({ messages }) {
  if (messages.at(-1).role === 'user') {
    yield { type: 'tool_call_start', index: 0, id: 'c', name: 'look' }
    yield { type: 'tool_call_end', index: 0 }
  } else {
    yield {
      type: 'text',
      text: messages.some(({ content }) => content?.includes('b')) ? 'seen' : '',
    }
  }
}

async function* hanging(_, { signal }) {
  yield { type: 'text', text: 'shown' }
  await new Promise((resolve) => signal.addEventListener('abort', resolve))
}

const run = (model) =>
  runTurn({
    model: customModel(model),
    messages: [{ role: 'user', content: 'go' }],
    tools: { look },
  })

/** How the three turns ended: {@link EXPECTED}. */
export async function use() {
  const ends = []
  const end = async (turn) => {
    const { status, text, error } = await turn.result
    ends.push(`${status} ${error ? error.code : ''} ${text}`)
  }
  await end(run(answering))
  const lost = run(hanging)
  for await (const event of lost) {
    if (event.type !== 'text') continue
    try {
      part.call((glue) => glue.trap())
    } catch (error) {
      ends.push(error.code)
    }
  }
  await end(lost)
  await end(run(answering))
  return ends.join('; ')
}
