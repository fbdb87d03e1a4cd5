// Turns that run in the page: the model is asked through the server, the tool reads the page.
import { defineTool, openaiChat, runTurn } from 'turnlock'

const model = openaiChat({ baseURL: '/api/v1', model: 'gpt-5-mini' })
const list_files = defineTool({
  description: 'Lists the files that this page has loaded.',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
  readOnly: true,
  execute: () => performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname),
})

const form = document.querySelector('form')
const log = document.querySelector('section')
/** The history: what the user says, and what each turn adds. */
const messages = []

function line(name, text = '') {
  const shown = document.createElement('p')
  shown.className = name
  shown.textContent = text
  log.append(shown)
  return shown
}

form.addEventListener('submit', async (submitted) => {
  submitted.preventDefault()
  const button = form.querySelector('button')
  button.disabled = true
  const content = new FormData(form).get('message')
  line('user', content)
  messages.push({ role: 'user', content })

  const turn = runTurn({ model, messages, tools: { list_files } })
  let answer
  for await (const event of turn) {
    if (event.type === 'tool_calls') {
      for (const { name } of event.toolCalls) line('call', `runs ${name}`)
    }
    if (event.type === 'text') (answer ??= line('assistant')).append(event.chunk)
  }
  const { status, error, messages: added } = await turn.result
  messages.push(...added)
  if (status !== 'complete') {
    line('error', `${status} ${error?.code ?? ''}: ${error?.message ?? ''}`).role = 'alert'
  }
  log.dataset.status = status
  button.disabled = false
})
