// A chat of assistant-ui over AG-UI, as an application has it: its own agent, its own primitives.
// `@ag-ui/client` is the one that `@assistant-ui/react-ag-ui` uses.
import { HttpAgent } from '@ag-ui/client'
import { AssistantRuntimeProvider, MessagePrimitive, ThreadPrimitive } from '@assistant-ui/react'
import { useAgUiRuntime } from '@assistant-ui/react-ag-ui'
import { createElement, useState } from 'react'
import { createRoot } from 'react-dom/client'

const Tool = ({ toolName, result }) =>
  createElement('p', { className: 'tool' }, JSON.stringify({ toolName, result }))
const Reasoning = ({ text }) => createElement('p', { className: 'reasoning' }, text)
const Text = ({ text }) => createElement('p', { className: 'text' }, text)
const components = { Text, Reasoning, tools: { Fallback: Tool } }
const Message = () =>
  createElement(
    MessagePrimitive.Root,
    { className: 'message' },
    createElement(MessagePrimitive.Parts, { components }),
  )

window.errors = []
function Chat() {
  const [agent] = useState(() => new HttpAgent({ url: `${location.origin}/api/chat` }))
  const onError = (error) => window.errors.push(String(error))
  const runtime = useAgUiRuntime({ agent, showThinking: true, onError })
  window.runtime = runtime
  const messages = createElement(ThreadPrimitive.Messages, { components: { Message } })
  return createElement(
    AssistantRuntimeProvider,
    { runtime },
    createElement(ThreadPrimitive.Root, null, messages),
  )
}

createRoot(document.body).render(createElement(Chat))
