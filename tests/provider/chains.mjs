// Models of a chain: one that plans, one that writes from results, and, to compare, one that looks
// for the same things in a plain tool loop. They know three queries.

const search = (id, query, depends_on = [], own = {}) => ({
  id,
  type: 'search',
  query,
  focus: '',
  depends_on,
  ...own,
})

/** Query → what its planner says, and the searches of a loop that knows no better. */
export const QUERIES = {
  'Compare the Ashby lighthouse and the Corran lighthouse: which one is older, and who built each?':
    {
      plan: {
        reasoning: 'One search for each, then the comparison.',
        pattern: 'parallel',
        steps: [
          search(1, 'Ashby lighthouse built'),
          search(2, 'Corran lighthouse built'),
          { id: 3, type: 'synthesize', query: '', focus: 'years, engineers', depends_on: [1, 2] },
        ],
        stopping_criteria: 'Both years are known.',
      },
      loop: () => ['Ashby lighthouse built', 'Corran lighthouse built'],
    },
  'Who built the lighthouse on the island where the writer of The Long Tide was born?': {
    plan: {
      reasoning: 'First the island, then its lighthouse.',
      pattern: 'sequential',
      steps: [
        search(1, 'writer novel The Long Tide born island'),
        { id: 2, type: 'refine', query: '', focus: 'island of (\\w+)', depends_on: [1] },
        search(3, 'lighthouse built engineer $2', [2]),
      ],
      stopping_criteria: 'The engineer is known.',
    },
    loop: () => ['writer novel The Long Tide born island', 'lighthouse built engineer Veyra'],
  },
  'Investigate the Halcyon lamp oil: was it recalled, and if so, what was the cause of it?': {
    plan: {
      reasoning: 'The cause matters only if there was a recall.',
      pattern: 'conditional',
      steps: [
        search(1, 'Halcyon lamp oil recalled'),
        search(2, 'Halcyon lamp oil supplier changed', [1], { when: '$1 contains "recalled"' }),
        search(3, 'Halcyon lamp oil quality', [1], { when: 'not ($1 contains "recalled")' }),
      ],
      stopping_criteria: 'The cause is known.',
    },
    loop: () => ['Halcyon lamp oil recalled', 'Halcyon lamp oil supplier changed'],
  },
}

const words = (text) => text.split(/(?<= )/)
const said = (view) => view.messages.map(({ text }) => text).join('\n')

/** What a model of that name answers: a `ScriptEntry` of the scripted provider; undefined for no such model. */
export function chainEntry(name, view) {
  const asked = said(view)
  const [, known] = Object.entries(QUERIES).find(([query]) => asked.includes(query)) ?? []
  switch (name) {
    case 'planner':
      return { text: words(known ? `The plan:\n\n${fenced(known.plan)}` : 'I cannot plan that.') }
    case 'writer':
      return {
        text: words(answer([...asked.matchAll(/^\[(.+?)\] (.*)$/gm)].map(([, , text]) => text))),
      }
    case 'loop':
      return loop(known?.loop() ?? [], view)
    default:
      return undefined
  }
}

const fenced = (plan) => `\`\`\`json\n${JSON.stringify(plan, null, 2)}\n\`\`\``

function answer(found) {
  return found.length ? `What was found: ${found.join(' ')}` : 'I answer that from memory.'
}

/** One search after the other, the results so far in the history each time. */
function loop(searches, { messages }) {
  const results = messages.flatMap((message) => message.results)
  const query = searches[results.length]
  if (query === undefined) {
    const texts = results.flatMap((result) => JSON.parse(result)).map(({ text }) => text)
    return { text: words(answer(texts)) }
  }
  return { calls: [{ id: `call_${results.length}`, name: 'search', args: { query } }] }
}
