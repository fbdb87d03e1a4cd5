// A chat as an application has it: React, `useChat`, approvals that are sent by themselves.
// `@ai-sdk/react` and `ai` are those of the version that the test builds it with.
import { useChat } from '@ai-sdk/react'
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from 'ai'
import { createElement, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'

const query = new URL(location.href).searchParams
const claimant = crypto.randomUUID()
window.ran = []

/** Runs the calls that wait for this page, as docs/frameworks.md has it: each once, in one tab. */
async function runHere({ resume, calls }) {
  const toolCallIds = calls.map(({ id }) => id)
  const claim = await fetch('/api/chat/claim', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...resume, toolCallIds, claimant }),
  })
  if (!claim.ok) return
  const { granted } = await claim.json()
  for (const { id, name } of calls.filter(({ id }) => granted.includes(id))) {
    window.ran.push(name)
    await window.held
    const failed = query.has('fails') && { state: 'output-error', errorText: 'no such place' }
    window.chat.addToolOutput({ tool: name, toolCallId: id, output: { at: 'home' }, ...failed })
  }
}

/** A tool of the page without a claim: the user answers. */
window.answer = (output) => {
  const parts = window.chat.messages.at(-1).parts
  const { type, toolCallId } = parts.findLast(({ state }) => state === 'input-available')
  return window.chat.addToolOutput({ tool: type.slice(5), toolCallId, output })
}

function Chat() {
  const chat = useChat({
    id: query.get('chat'),
    transport: new DefaultChatTransport({ api: '/api/chat' }),
    resume: query.has('resume'),
    sendAutomaticallyWhen: (given) =>
      lastAssistantMessageIsCompleteWithApprovalResponses(given) ||
      lastAssistantMessageIsCompleteWithToolCalls(given),
    onData: (part) => {
      window.data.push(part)
      if (query.has('runs') && part.data.calls) void runHere(part.data)
    },
  })
  window.chat = chat
  return createElement('pre', null, JSON.stringify(chat.messages))
}

window.data = []
createRoot(document.body).render(createElement(StrictMode, null, createElement(Chat)))
