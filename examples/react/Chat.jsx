import { useState } from 'react'
import { useTurn } from 'turnlock/react'
import { turns } from './turns.js'

export function Chat() {
  const { messages, status, approvals, error, send, approve, stop, regenerate } = useTurn({
    turns,
    persist: 'localStorage',
  })
  const [draft, setDraft] = useState('What is in this page?')

  function submit(event) {
    event.preventDefault()
    // A message that was refused, because a turn runs, stays in the field.
    if (draft && send(draft)) setDraft('')
  }

  return (
    <main data-status={status}>
      {messages.map(({ id, role, parts }) => (
        <article key={id} className={role}>
          {parts.map((part, at) => (
            <Part key={at} part={part} />
          ))}
        </article>
      ))}
      {approvals.map(({ signature, name, args }) => (
        <p key={signature}>
          May {name} run with {JSON.stringify(args)}?{' '}
          <button onClick={() => approve(signature)}>Run it</button>
          <button onClick={() => approve(signature, false)}>No</button>
        </p>
      ))}
      {error && (
        <p role="alert">
          {error.code}: {error.message}
        </p>
      )}
      <form onSubmit={submit}>
        <input aria-label="Message" value={draft} onChange={(e) => setDraft(e.target.value)} />
        <button>Send</button>
        {status === 'running' ? (
          <button type="button" onClick={() => stop()}>
            Stop
          </button>
        ) : (
          <button type="button" onClick={() => regenerate()}>
            Again
          </button>
        )}
      </form>
    </main>
  )
}

function Part({ part }) {
  if (part.type === 'call') {
    return (
      <code>
        {part.name}: {part.status}
      </code>
    )
  }
  return part.type === 'reasoning' ? <small>{part.text}</small> : <span>{part.text}</span>
}
