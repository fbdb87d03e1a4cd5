// Queries, and what a planner might say to them.

const search = (id, query, depends_on = [], own = {}) => ({
  id,
  type: 'search',
  query,
  focus: '',
  depends_on,
  ...own,
})

export const EXAMPLES = {
  'A comparison (side by side)': {
    query: 'Compare the tax rules of Ohio, Texas and Maine for small software companies.',
    plan: {
      reasoning: 'One search for each state, then the comparison.',
      pattern: 'parallel',
      steps: [
        search(1, 'Ohio tax software companies'),
        search(2, 'Texas tax software companies'),
        search(3, 'Maine tax software companies'),
        { id: 4, type: 'synthesize', query: '', focus: 'differences', depends_on: [1, 2, 3] },
      ],
      stopping_criteria: 'All three are known.',
    },
  },
  'A timeline (one after the other)': {
    query: 'How has the relationship between interest rates and housing prices changed since 2000?',
    plan: {
      reasoning: 'Decade by decade.',
      pattern: 'sequential',
      steps: [
        search(1, 'interest rates housing prices 2000 to 2010'),
        search(2, 'interest rates housing prices 2010 to 2020'),
        { id: 3, type: 'refine', query: '', focus: 'turning points in ${1} and ${2}' },
      ],
      stopping_criteria: 'The turning points are known.',
    },
  },
  'An investigation (by condition)': {
    query: 'Investigate whether the lamp oil was recalled, and what caused it.',
    plan: {
      reasoning: 'The cause matters only if there was a recall.',
      pattern: 'conditional',
      steps: [
        search(1, 'lamp oil recall'),
        search(2, 'cause of: ${1}', [1], { when: '${1} contains "recall"' }),
        search(3, 'lamp oil quality', [1], { when: 'not (${1} contains "recall")' }),
      ],
      stopping_criteria: 'The cause is known.',
    },
  },
  'A plan that is none (a circle)': {
    query: 'Compare the two lighthouses and say which one came first.',
    plan: {
      reasoning: '',
      pattern: 'parallel',
      steps: [search(1, 'the first', [2]), search(2, 'the second', [1])],
      stopping_criteria: '',
    },
  },
  'A simple question': {
    query: 'What is a causeway?',
    plan: { reasoning: '', pattern: 'parallel', steps: [search(1, 'causeway')] },
  },
}
