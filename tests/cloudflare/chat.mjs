// What the object and the agent of these tests have in common: a model, tools, and what they are asked.
import { customModel, defineTool, runTurn } from 'turnlock'

const inputSchema = { type: 'object' }
const isResult = ({ content }) => String(content).includes('TOOL RESULT')

/** A model that calls the tool that the user names, and then answers. The test may hold it back. */
const model = (gate) =>
  customModel(async function* ({ messages }) {
    const [name] = /pay|send/.exec(String(messages.find(({ role }) => role === 'user').content))
    if (messages.some(isResult)) {
      await gate.fetch('http://gate/answer')
      return yield { type: 'text', text: 'Done.' }
    }
    yield { type: 'tool_call_start', index: 0, id: 'c', name }
    yield { type: 'tool_call_arguments', index: 0, text: '{}' }
    yield { type: 'tool_call_end', index: 0 }
  })

/** The options of each turn. Effects are requests to `gate`, which counts them. */
export const optionsOf = (gate) => {
  const tool = (path, more) =>
    defineTool({
      description: `Does ${path}.`,
      inputSchema,
      execute: async () => (await gate.fetch(`http://gate/${path}`)).text(),
      ...more,
    })
  return {
    model: model(gate),
    tools: { pay: tool('pay'), send: tool('send', { needsApproval: true }) },
  }
}

export const tenantOf = (request) =>
  new URL(request.url).searchParams.get('user') || request.headers.get('x-user')

/** Commands of the tests, to any object with turns. */
export async function perform(object, [what, ...args]) {
  const { turnlock } = object
  switch (what) {
    case 'run': {
      const [text, options] = args
      const turn = await turnlock.run({ messages: [{ role: 'user', content: text }], ...options })
      return turn.requestId
    }
    // As a handler does.
    case 'runBeside': {
      const { store } = turnlock
      const [text, options] = args
      const messages = [{ role: 'user', content: text }]
      return runTurn({ ...object.turnOptions(), ...options, messages, store }).requestId
    }
    case 'status': {
      const stored = await turnlock.store.read(JSON.stringify(args))
      return stored && JSON.parse(stored.state).status
    }
    case 'events': {
      const events = []
      const [tenant, requestId] = args
      for await (const event of turnlock.follow({ tenant, requestId })) events.push(event)
      return events
    }
    case 'guarded': {
      const tools = { pay: { execute: (await object.turnOptions()).tools.pay.execute } }
      const { pay } = turnlock.guardTools(tools, { conversationId: 'c' })
      const turn = { messages: [{ role: 'user', content: 'pay' }] }
      return Promise.all(['a', 'b'].map((toolCallId) => pay.execute({}, { toolCallId, ...turn })))
    }
    default:
      return turnlock[what](...args)
  }
}
