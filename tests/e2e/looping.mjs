// A trace with a loop, in the form of OpenAI.
export const said = { role: 'user', content: 'What\'s in "my" $NAME?' }
export const asked = (id, args, name = 'read_file') => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name, arguments: args } }],
})
export const told = (id, content = 'Buy milk.') => ({ role: 'tool', tool_call_id: id, content })
const PATH = '{"path":"a","lines":4}'
/** The same call four times, spelled in two ways; then another. */
export const LOOP = [
  said,
  ...[PATH, '{"lines": 4, "path": "a"}', PATH, PATH].flatMap((args, at) => [
    asked(`c${at}`, args),
    told(`c${at}`),
  ]),
  asked('c9', '{}', 'list_files'),
  told('c9', '[]'),
]
export const body = { model: 'm', messages: LOOP, stream: true }
