// The conversations that `npm run record` plays against a provider. The set is fixed, so that
// recordings of providers and of dates can be compared. Web standards only.

const object = (properties, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
const string = { type: 'string' }

/** Name → tool; each is read-only unless it says otherwise. */
export const TOOLS = {
  list_files: {
    description: 'Lists the files of a folder.',
    inputSchema: object({ path: string }),
    execute: () => ['notes.txt', 'plan.md'],
  },
  read_file: {
    description: 'Returns the text of a file.',
    inputSchema: object({ path: string }),
    execute: ({ path }) => `${path}: The meeting is on Tuesday at ten.`,
  },
  weather: {
    description: 'Returns the weather of a city.',
    inputSchema: object({ city: string }),
    execute: ({ city }) => ({ city, celsius: 21, sky: 'clear' }),
  },
  now: { description: 'Returns the time.', inputSchema: object({}), execute: () => '12:00' },
  broken: {
    description: 'Returns the price of a share.',
    inputSchema: object({ symbol: string }),
    execute() {
      throw new Error('The market is closed')
    },
  },
  long: {
    description: 'Returns the log of the server.',
    inputSchema: object({}),
    execute: () => 'line of the log\n'.repeat(2000),
  },
  nothing: { description: 'Returns the open tickets.', inputSchema: object({}), execute: () => [] },
  nested: {
    description: 'Books a trip.',
    readOnly: false,
    inputSchema: object({
      traveller: object({ name: string, age: { type: 'integer' } }),
      stops: { type: 'array', items: object({ city: string, nights: { type: 'integer' } }) },
      note: { anyOf: [string, { type: 'null' }] },
    }),
    execute: ({ stops }) => ({ booked: stops?.length ?? 0 }),
  },
}

const user = (content) => ({ role: 'user', content })
const assistant = (content) => ({ role: 'assistant', content })
const unified = { policy: { resultsAs: 'native' }, mode: 'unified' }
const native = { policy: { resultsAs: 'native' } }

/** A history with a call and its result, in the shape of Chat Completions. */
const withCall = (result) => [
  user('What is in notes.txt?'),
  {
    role: 'assistant',
    content: null,
    tool_calls: [
      {
        id: 'call_1',
        type: 'function',
        function: { name: 'read_file', arguments: '{"path":"notes.txt"}' },
      },
    ],
  },
  { role: 'tool', tool_call_id: 'call_1', content: result },
  assistant('It names a meeting on Tuesday at ten.'),
  user('And which day was it again?'),
]

/**
 * `tools` are names of TOOLS; `options` are those of `runTurn`.
 * @type {{ name: string, messages: object[], tools?: string[], options?: object }[]}
 */
export const CONVERSATIONS = [
  { name: 'text', messages: [user('Reply with the word ready.')] },
  {
    name: 'text-unicode',
    messages: [user('Repeat exactly: Grüße, 東京, 👩‍🚀, "quoted", \\ and \n.')],
  },
  { name: 'text-long', messages: [user('Count from 1 to 200, separated by commas.')] },
  { name: 'text-code', messages: [user('Write a JavaScript function that adds two numbers.')] },
  { name: 'text-json', messages: [user('Reply with {"a": 1} in a code fence.')] },
  {
    name: 'two-turns',
    messages: [user('My name is Ada.'), assistant('Hello Ada.'), user('Who am I?')],
  },
  {
    name: 'reasoning',
    messages: [user('A bat and a ball cost 1.10; the bat costs 1.00 more. How much is the ball?')],
  },
  { name: 'one-call', messages: [user('What is the weather in Oslo?')], tools: ['weather'] },
  {
    name: 'one-call-native',
    messages: [user('What is the weather in Oslo?')],
    tools: ['weather'],
    options: native,
  },
  {
    name: 'one-call-unified',
    messages: [user('What is the weather in Oslo?')],
    tools: ['weather'],
    options: unified,
  },
  {
    name: 'parallel-calls',
    messages: [user('Compare the weather in Oslo, Rome and Lima.')],
    tools: ['weather'],
  },
  {
    name: 'list-then-read',
    messages: [user('Find my notes and tell me when the meeting is.')],
    tools: ['list_files', 'read_file'],
  },
  {
    name: 'list-then-read-native',
    messages: [user('Find my notes and tell me when the meeting is.')],
    tools: ['list_files', 'read_file'],
    options: native,
  },
  {
    name: 'list-then-read-unified',
    messages: [user('Find my notes and tell me when the meeting is.')],
    tools: ['list_files', 'read_file'],
    options: unified,
  },
  { name: 'no-parameters', messages: [user('What time is it? Use the tool.')], tools: ['now'] },
  { name: 'failing-tool', messages: [user('What does the share XYZ cost?')], tools: ['broken'] },
  {
    name: 'failing-tool-native',
    messages: [user('What does the share XYZ cost?')],
    tools: ['broken'],
    options: native,
  },
  { name: 'long-result', messages: [user('Summarize the log.')], tools: ['long'] },
  { name: 'empty-result', messages: [user('Which tickets are open?')], tools: ['nothing'] },
  {
    name: 'nested-arguments',
    messages: [user('Book Ada, 36, two nights in Oslo and three in Rome. No note.')],
    tools: ['nested'],
  },
  {
    name: 'tool-not-needed',
    messages: [user('Reply with the word ready.')],
    tools: ['weather', 'now'],
  },
  {
    name: 'history-with-call',
    messages: withCall('The meeting is on Tuesday at ten.'),
    tools: ['read_file'],
    options: native,
  },
  {
    name: 'history-with-empty-result',
    messages: withCall(''),
    tools: ['read_file'],
    options: native,
  },
  {
    name: 'answer-schema',
    messages: [user('How many days has a week?')],
    options: { answerSchema: object({ days: { type: 'integer' } }) },
  },
  {
    name: 'answer-schema-with-tool',
    messages: [user('How warm is it in Oslo?')],
    tools: ['weather'],
    options: { answerSchema: object({ celsius: { type: 'number' } }) },
  },
]
