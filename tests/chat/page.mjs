// Components around `useTurn`, which the tests mount and click.
import { createElement as h, StrictMode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { customModel, defineTool, localTurns, memoryStore, resumeTurn, runTurn } from 'turnlock'
import { createChat, useTurn } from 'turnlock/react'
import { remoteTurns } from 'turnlock/remote'
import { indexedDbStore } from 'turnlock/stores/indexeddb'

const seen = { renders: 0, states: [], runs: [], cancelled: 0, requests: [], gates: [] }

const careful = defineTool({
  description: 'd',
  inputSchema: { type: 'object' },
  needsApproval: true,
  execute: (args) => (seen.runs.push(args), { done: true }),
})

/** Waits for `open()` of the test, or for the end of the request. */
const gate = (signal) =>
  new Promise((resolve, reject) => {
    seen.gates.push(resolve)
    signal.addEventListener('abort', () => {
      seen.cancelled++
      reject(signal.reason)
    })
  })

const model = customModel(async function* ({ messages }, { signal }) {
  seen.requests.push(messages)
  const asked = messages.findLast(({ role }) => role === 'user').content
  const settled = messages.some(({ content }) => String(content).includes('TOOL RESULT'))
  if (asked === 'many') {
    for (let n = 0; n < 2000; n++) yield { type: 'text', text: `${n},` }
  } else if (asked === 'wait') {
    yield { type: 'text', text: 'one ' }
    await gate(signal)
    yield { type: 'text', text: 'two' }
  } else if (asked === 'ask first' && !settled) {
    yield { type: 'tool_call_start', index: 0, id: 'c1', name: 'careful' }
    yield { type: 'tool_call_arguments', index: 0, text: '{"n":1}' }
    yield { type: 'tool_call_end', index: 0 }
  } else if (asked === 'break') {
    throw new Error('no model today')
  } else {
    yield { type: 'text', text: `answer ${seen.requests.length}` }
  }
})

const store = memoryStore()
const local = {
  run: (own) => runTurn({ model, store, tools: { careful }, ...own }),
  resume: (own) => resumeTurn({ model, store, tools: { careful }, ...own }),
}
const locate = defineTool({
  description: 'd',
  inputSchema: { type: 'object' },
  execute: (args) => (seen.runs.push(args), 'at home'),
})
/** Ends when it is aborted, and not before. */
const linger = defineTool({
  description: 'd',
  inputSchema: { type: 'object' },
  execute: (_, { signal }) =>
    new Promise((resolve) => {
      seen.lingers = (seen.lingers ?? 0) + 1
      signal.addEventListener('abort', () => resolve(void (seen.lingers -= 1)))
    }),
})
const remote = remoteTurns({ url: '/api/chat', tools: { locate, linger } })
const kept = localTurns({
  model,
  tools: { careful },
  store: indexedDbStore({ name: 'kept' }),
  keep: { leaseMs: 500 },
})
const turns = { local, remote, kept, forgotten: localTurns({ model, tools: { careful } }) }
/** Where the chats of a kind are kept. */
const persist = {
  kept: 'localStorage',
  forgotten: (key, text) => {
    if (window.full) throw new Error('no room')
    if (text === undefined) return sessionStorage.getItem(key)
    sessionStorage.setItem(key, text)
  },
}

function Chat({ given, name }) {
  const chat = useTurn(given)
  const { messages, status, phase, approvals, error } = chat
  seen.renders++
  seen.states.push({ status, phase, text: messages.at(-1)?.text })
  window[name] = chat
  const press = (label, act) => h('button', { className: label, onClick: act }, label)
  return h(
    'section',
    { id: name, 'data-status': status },
    h('output', null, error?.code),
    messages.map(({ id, role, parts }) =>
      h(
        'p',
        { key: id, className: role },
        parts.map((part, at) =>
          part.type === 'call'
            ? h('code', { key: at, 'data-call': part.status }, part.name)
            : h('span', { key: at }, part.text),
        ),
      ),
    ),
    approvals.map(({ signature }) =>
      h(
        'div',
        { key: signature },
        press('approve', () => chat.approve(signature)),
        press('deny', () => chat.approve(signature, false)),
      ),
    ),
    press('stop', () => chat.stop()),
    press('regenerate', () => chat.regenerate()),
  )
}

/** A host whose options are new objects in every render, and which can take the chat away. */
function App({ kind, shared }) {
  const [shown, show] = useState(true)
  const [generation, remount] = useState(0)
  Object.assign(window, { show, remount })
  const [chat] = useState(() => shared && createChat({ turns: turns[kind] }))
  const given = chat || { turns: { ...turns[kind] }, persist: persist[kind] }
  if (!shown) return h('i', null, 'gone')
  const first = h(Chat, { key: generation, given, name: 'first' })
  return shared ? h('main', null, first, h(Chat, { given, name: 'second' })) : first
}

window.seen = seen
window.turns = turns.remote
window.mount = (kind, shared) =>
  createRoot(document.body.appendChild(document.createElement('div'))).render(
    h(StrictMode, null, h(App, { kind, shared })),
  )
window.ready = true
