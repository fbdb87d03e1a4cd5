// What a model may say in the request pass.
const call = (tool_name, params, reason) => ({ tool_name, params, reason })
const asks = (...calls) => JSON.stringify({ tool_calls: calls }, null, 2)
const LIST = call('list_files', { path: '.' }, 'Which notes are there?')
const READ = call('read_file', { path: 'notes.txt' }, 'What is open?')

export const EXAMPLES = {
  'One read, one order': asks(
    READ,
    call('send_note', { to: 'Ada', text: 'Buy now.' }, 'She should know.'),
    call('read_file', { path: 'notes.txt' }, 'To be sure.'),
  ),
  'More than the limit': asks(LIST, READ, call('read_file', { path: 'readme.md' }, 'And this.')),
  'A file that is not there, and a slow tool': asks(
    call('read_file', { path: 'gone.txt' }, 'It was there.'),
    call('slow_report', {}, 'The weekly numbers.'),
  ),
  'In a fenced block': `I need one thing first:\n\n\`\`\`json\n${asks(READ)}\n\`\`\`\n`,
  'With thoughts, in prose': `<think>The notes may say more.</think>I need one thing first: ${asks(READ)}`,
  'Nothing needed': '{ "tool_calls": [] }',
  'No request': 'The input is enough for me, thank you.',
  'A member too many': asks({ ...READ, timeout: 60 }),
}
