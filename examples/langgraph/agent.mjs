// An agent in LangGraph, as its documentation has it, with three additions of Turnlock: calls are
// judged before they run (`createCallGuard`), a repeated call is told by its canonical signature, and
// when the budget is spent the model is asked for its answer and can call nothing any more.
import { AIMessage, ToolMessage } from '@langchain/core/messages'
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { createCallGuard, signature } from 'turnlock'

/**
 * What the guard of the user's last message knows. It is made of the messages, so that a graph
 * which a checkpointer has stored goes on with the same budget and the same repeats.
 */
function guardOf(messages, options) {
  const guard = createCallGuard(options)
  const from = messages.findLastIndex((message) => message.getType() === 'human')
  const turn = messages.slice(from + 1)
  const answers = new Map(messages.map((message) => [message.tool_call_id, message]))
  for (const { tool_calls: calls = [] } of turn) {
    for (const { id, name, args } of calls) {
      // A call that waits for the node below is judged there.
      if (!answers.has(id)) continue
      const { action } = guard.judge({ name, args })
      if (action === 'run') guard.settle({ name, args }, answers.get(id).content)
    }
  }
  // A model that only repeats itself spends no budget: one response more than calls, as in a turn.
  const responses = turn.filter((message) => message.getType() === 'ai')
  if (responses.length > options.maxCalls) guard.close()
  return guard
}

const wordsOf = ({ content }) => (typeof content === 'string' ? content : JSON.stringify(content))

/**
 * @param llm a chat model of LangChain
 * @param tools tools of LangChain; `metadata: { readOnly: true }` if it has no side effects
 * @param maxTools how many calls may run for one message of the user
 */
export function makeAgent({ llm, tools, maxTools = 3, checkpointer }) {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const known = Object.fromEntries(
    tools.map(({ name, metadata }) => [name, { readOnly: metadata?.readOnly === true }]),
  )
  const judge = (messages) => guardOf(messages, { tools: known, maxCalls: maxTools })

  /** Tool phase while calls are left; then the action phase: tools declared, and none to be called. */
  async function model({ messages }) {
    if (judge(messages).isOpen) return { messages: [await llm.bindTools(tools).invoke(messages)] }
    const answer = await llm.bindTools(tools, { tool_choice: 'none' }).invoke(messages)
    // Some models call all the same. Nothing of it runs, and the user gets the results as they are.
    const results = messages.filter((message) => message.getType() === 'tool').map(wordsOf)
    const content = wordsOf(answer) || `The tools returned:\n${results.join('\n')}`
    return { messages: [new AIMessage({ content, id: answer.id })] }
  }

  async function act({ messages }) {
    const guard = judge(messages)
    const said = []
    for (const { id, name, args } of messages.at(-1).tool_calls) {
      const { action, notice, outcome } = guard.judge({ name, args })
      let content = notice
      if (action === 'replay') content = wordsOf({ content: await outcome })
      if (action === 'run') {
        content = wordsOf({ content: await run(byName.get(name), args) })
        guard.settle({ name, args }, content)
      }
      const status = action === 'block' ? 'error' : 'success'
      const artifact = { action, signature: signature({ tool: name, args }) }
      said.push(new ToolMessage({ tool_call_id: id, name, content, status, artifact }))
    }
    return { messages: said }
  }

  return new StateGraph(MessagesAnnotation)
    .addNode('model', model)
    .addNode('act', act)
    .addEdge(START, 'model')
    .addConditionalEdges('model', ({ messages }) =>
      messages.at(-1).tool_calls?.length ? 'act' : END,
    )
    .addEdge('act', 'model')
    .compile({ checkpointer })
}

/** A tool that fails says so to the model. */
async function run(tool, args) {
  try {
    return await tool.invoke(args)
  } catch (error) {
    return `The tool failed: ${error.message}`
  }
}
