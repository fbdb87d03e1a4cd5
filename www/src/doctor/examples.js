// Histories as real applications keep them, each with something that providers refuse.

const call = (id, name, args) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
})
const langchain = (name, kwargs) => ({
  lc: 1,
  type: 'constructor',
  id: ['langchain_core', 'messages', name],
  kwargs,
})

/** The same call a dozen times: with its arguments in another order, and with white space. */
const LOOP = [
  { path: 'notes.txt', lines: 40 },
  { lines: 40, path: 'notes.txt' },
].flatMap((args) => [JSON.stringify(args), JSON.stringify(args, null, 1)])
const NOTES = 'Buy milk. Call Ada about the engine. '.repeat(12)

const looping = Array.from({ length: 12 }, (_, at) => {
  const id = `call_${at}`
  const call = { name: 'read_file', arguments: LOOP[at % LOOP.length] }
  const toolCall = { id, type: 'function', function: call }
  return [
    { role: 'assistant', content: null, tool_calls: [toolCall] },
    { role: 'tool', tool_call_id: id, content: NOTES },
  ]
})

/** Name → history, or the body of a request. */
export const EXAMPLES = {
  'A request body: one file, read twelve times': {
    model: 'gpt-4.1',
    tools: [{ type: 'function', function: { name: 'read_file' } }],
    messages: [
      { role: 'system', content: 'You are a helpful assistant with access to files.' },
      { role: 'user', content: 'What do my notes say about the engine?' },
      {
        role: 'assistant',
        content: 'I look for them.',
        tool_calls: [call('call_list', 'list_files', { path: '.' })],
      },
      { role: 'tool', tool_call_id: 'call_list', content: '["notes.txt","readme.md"]' },
      ...looping.flat(),
    ],
  },
  'UI events, a result without its call': [
    { type: 'tool_call_result', toolCallId: 'call_0', toolName: 'list_files', result: ['a.txt'] },
    { type: 'user_message', text: 'What is in my notes?' },
    {
      type: 'tool_call_start',
      toolCallId: 'call_1',
      toolName: 'read_file',
      args: { path: 'notes.txt' },
    },
    { type: 'tool_call_result', toolCallId: 'call_1', result: 'Buy milk.' },
    { type: 'text', text: 'A reminder to buy milk.' },
    { type: 'user_message', text: 'Thanks. And today?' },
  ],
  'Parallel calls, results reversed, a user in between': [
    { role: 'user', content: 'Weather in Oslo and in Rome?' },
    {
      role: 'assistant',
      content: '',
      toolCalls: [
        { toolCallId: 'call_oslo', toolName: 'weather', args: { city: 'Oslo' } },
        { toolCallId: 'call_rome', toolName: 'weather', args: { city: 'Rome' } },
      ],
    },
    { role: 'tool', toolCallId: 'call_rome', toolName: 'weather', result: '24 °C, clear' },
    { role: 'user', content: 'Please hurry.' },
    { role: 'tool', toolCallId: 'call_oslo', toolName: 'weather', result: '11 °C, rain' },
    { role: 'assistant', content: 'Rome is warm and clear, Oslo cool and wet.' },
    { role: 'user', content: 'Which should I pack for first?' },
  ],
  'Anthropic blocks, text before the result': [
    { role: 'user', content: 'How many files are there?' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'I should list them.', signature: 'c2lnbmVk' },
        { type: 'tool_use', id: 'toolu_01', name: 'list_files', input: { path: '.' } },
        { type: 'text', text: 'Let me look.' },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'By the way, hidden ones too.' },
        { type: 'tool_result', tool_use_id: 'toolu_01', content: 'a.txt\nb.txt' },
      ],
    },
    {
      role: 'assistant',
      content: [{ type: 'thinking', thinking: 'Two.', by: 'another provider' }],
    },
    { role: 'user', content: 'So?' },
  ],
  'LangChain, a failed and an unreadable call': [
    langchain('HumanMessage', { content: 'Add 2 and 3, then save it.', additional_kwargs: {} }),
    langchain('AIMessage', {
      content: [{ type: 'text', text: 'Adding.', index: 0 }],
      tool_calls: [{ id: 'call_add', name: 'add', args: { a: 2, b: 3 }, type: 'tool_call' }],
      invalid_tool_calls: [
        {
          id: 'call_save',
          name: 'save',
          args: '{"value":',
          error: 'parse',
          type: 'invalid_tool_call',
        },
      ],
    }),
    langchain('ToolMessage', {
      content: 'out of memory',
      tool_call_id: 'call_add',
      name: 'add',
      status: 'error',
      artifact: { kept: 'by the UI' },
    }),
    { type: 'human', content: 'And?', id: 'h2', response_metadata: {} },
  ],
  'AI SDK UIMessage, a tool part still streaming': [
    { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Find my notes about Ada.' }] },
    {
      id: 'm2',
      role: 'assistant',
      parts: [
        { type: 'step-start' },
        { type: 'reasoning', text: 'Search first.' },
        { type: 'text', text: 'Looking.' },
        {
          type: 'tool-search',
          toolCallId: 'call_search',
          state: 'output-available',
          input: { query: 'Ada' },
          output: { files: ['notes.txt'] },
        },
        {
          type: 'tool-read_file',
          toolCallId: 'call_read',
          state: 'output-error',
          input: { path: 'old.txt' },
          errorText: 'there is no file old.txt',
        },
        { type: 'step-start' },
        { type: 'text', text: 'One note.' },
        {
          type: 'tool-read_file',
          toolCallId: 'call_cut',
          state: 'input-streaming',
          input: { path: 'no' },
        },
      ],
    },
    { id: 'm3', role: 'user', parts: [{ type: 'text', text: 'What does it say?' }] },
  ],
  'User, tool without a call, assistant': [
    { role: 'user', content: 'What is 6 times 7?' },
    { role: 'tool', toolCallId: 'call_lost', content: '42' },
    { role: 'assistant', content: 'It is 42.' },
    { role: 'user', content: 'Are you sure?' },
  ],
  'OpenAI Chat, nothing wrong': [
    { role: 'system', content: 'Answer briefly.' },
    { role: 'user', content: 'What is in my files?' },
    { role: 'assistant', content: null, tool_calls: [call('call_1', 'list_files', { path: '.' })] },
    { role: 'tool', tool_call_id: 'call_1', content: '["notes.txt"]' },
    { role: 'assistant', content: 'One file, notes.txt.' },
    { role: 'user', content: 'Thanks.' },
  ],
}
