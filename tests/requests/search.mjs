// A pass whose tool really searches: a full-text index over the library, in any runtime.
import MiniSearch from 'minisearch'
import { modelOf } from '../lanes.mjs'

function assert(fact, what) {
  if (!fact) throw new Error(what)
}

const same = (got, wanted, what) => {
  const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)]
  assert(a === b, `${what}: wanted ${b}, got ${a}`)
}

/** A read-only tool over an index of `documents`. */
function searchTool({ defineTool }, documents) {
  const index = new MiniSearch({ fields: ['title', 'text'], storeFields: ['title'] })
  index.addAll(documents)
  return defineTool({
    description: 'Searches the library.',
    inputSchema: {
      type: 'object',
      required: ['query'],
      additionalProperties: false,
      properties: { query: { type: 'string', minLength: 1 } },
    },
    readOnly: true,
    execute: ({ query }) =>
      index
        .search(query, { boost: { title: 2 } })
        .slice(0, 3)
        .map(({ id, title, score }) => ({ id, title, score: Math.round(score * 100) / 100 })),
  })
}

/** Live, then recorded, then replayed twice: the planner of the scripted provider asks. */
export async function playSearch({ turnlock, url, session, dialect }, { search }) {
  const { question, title, documents } = search
  const ordered = []
  let searched = 0
  const found = searchTool(turnlock, documents)
  const tools = {
    search: { ...found, execute: (...given) => (searched++, found.execute(...given)) },
    place_order: turnlock.defineTool({
      description: 'Places an order.',
      inputSchema: { type: 'object' },
      execute: (args) => ordered.push(args),
    }),
  }
  const { allow } = turnlock.inventoryTools(tools)
  same(allow, ['search'], 'the allowlist')
  const pass = async (mode, own) => {
    const at = `${session}-${mode}`
    const options = { baseURL: `${url}/s/${at}/planner/v1`, model: 'scripted', apiKey: 'secret' }
    const model = modelOf(turnlock, dialect, options)
    const trace = []
    const input = { question, global_context: { market_structure: 'range' } }
    const result = await turnlock.runPlanning({
      model,
      input,
      tools,
      policy: { allow: [...allow, 'place_order'] },
      onTrace: (event) => trace.push(event),
      ...own,
    })
    const requests = await (await fetch(`${url}/s/${at}/requests`)).json()
    same(requests.length, 2, 'requests')
    assert(requests[1].tools.length === 0, 'the plan pass is offered tools')
    const { toolResults, calls, plan, fellBack } = result
    same(fellBack, null, 'fellBack')
    same([plan.action, plan.because[0]], ['act', title], 'the plan')
    const said = calls.map(({ tool_name, status, refusal }) => [tool_name, status, refusal])
    const wanted = [
      ['search', 'ok', null],
      ['place_order', 'blocked', 'not_read_only'],
      ['search', 'skipped', 'duplicate'],
    ]
    same(said, wanted, 'calls')
    same(
      plan.because,
      toolResults[0].result.map((hit) => hit.title),
      'what the model read',
    )
    const audit = turnlock.auditToolUse(trace, result.planId)
    const used = audit.calls.filter((call) => call.duration_ms !== null)
    same(
      used.map((call) => [call.tool_name, call.params.query, call.reason, call.status]),
      [['search', question, 'The input does not answer the question.', 'ok']],
      'the audit',
    )
    return { result, trace, bodies: requests.map((one) => one.body), source: audit.source }
  }
  same((await pass('live', {})).source, null, 'source')
  const recording = []
  const paper = await pass('paper', { record: recording, source: 'paper' })
  same([paper.source, recording.length, searched], ['paper', 1, 2], 'the recording')
  const kept = JSON.parse(JSON.stringify(recording))
  const replayed = [await pass('one', { replay: kept }), await pass('two', { replay: kept })]
  same(searched, 2, 'searches: a replay runs no tool')
  same(JSON.stringify(replayed[0]), JSON.stringify(replayed[1]), 'two replays')
  same(replayed[0].result.toolResults, paper.result.toolResults, 'what was recorded')
  same(ordered, [], 'orders')
}
