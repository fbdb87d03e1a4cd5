'use client'
import { useState } from 'react'
import { useTurn } from 'turnlock/react'
import { remoteTurns } from 'turnlock/remote'

const turns = remoteTurns({ url: '/api/chat' })

export default function Page() {
  const { messages, status, error, send, stop } = useTurn({ turns })
  const [draft, setDraft] = useState('What is in this app?')

  // As an action of the form, it also gets what is sent before the page is hydrated.
  function submit() {
    // A message that was refused, because a turn runs, stays in the field.
    if (draft && send(draft)) setDraft('')
  }

  return (
    <main data-status={status}>
      {messages.map(({ id, role, parts }) => (
        <article key={id} className={role}>
          {parts.map((part, at) =>
            part.type === 'call' ? (
              <code key={at}>
                {part.name}: {part.status}
              </code>
            ) : (
              <span key={at}>{part.text}</span>
            ),
          )}
        </article>
      ))}
      {error && (
        <p role="alert">
          {error.code}: {error.message}
        </p>
      )}
      <form action={submit}>
        <input aria-label="Message" value={draft} onChange={(e) => setDraft(e.target.value)} />
        {status === 'running' ? (
          <button type="button" onClick={() => stop()}>
            Stop
          </button>
        ) : (
          <button>Send</button>
        )}
      </form>
    </main>
  )
}
