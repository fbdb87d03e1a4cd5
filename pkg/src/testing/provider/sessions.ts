/** Sessions of the scripted provider: their requests, and the connections that wait to be cut. */
import type { StoredConversation } from './wire/entry.js'
import type { WireName } from './wire/index.js'

/** A request that the scripted provider received. */
export interface ProviderRequest {
  wire: WireName
  /** The behaviour or script that answered. */
  script: string
  /** The parsed body; `null` if it is not JSON, or not in the wire format. */
  body: unknown
  /** Names of the declared tools. */
  tools: string[]
  /** The tool choice; `none` if calls are forbidden. */
  choice: string | null
  /** The messages, independent of their name in the wire format. */
  messages: readonly unknown[]
  /** Headers, without those that contain a key. */
  headers: Record<string, string>
  /** The client disconnected before the end of the response. */
  closedEarly: boolean
  /** The request was rejected, or its response was scripted to break off. */
  failed?: true
  /** The body with the conversation that it continues. */
  whole?: unknown
  /** The conversation that the provider stores. */
  conversation?: StoredConversation | undefined
}

interface Session {
  readonly requests: ProviderRequest[]
  /** Characters of the request bodies. */
  size: number
  /** Breaks the connection that waits for it. */
  cut?: () => void
}

const NO_REQUESTS: ProviderRequest[] = []

/** The sessions in memory. The least recently used ones are discarded beyond the limits. */
export class Sessions {
  /** The least recently used session first. */
  readonly #sessions = new Map<string, Session>()
  readonly #maxSessions: number
  readonly #maxCharacters: number
  #size = 0

  constructor(limits: { maxSessions: number; maxCharacters: number }) {
    this.#maxSessions = limits.maxSessions
    this.#maxCharacters = limits.maxCharacters
  }

  /** Returns the requests of a session, in order. */
  requests(id: string): ProviderRequest[] {
    return this.#sessions.get(id)?.requests ?? NO_REQUESTS
  }

  /** Returns the session, which becomes the most recently used one. */
  open(id: string): Session {
    const session = this.#sessions.get(id) ?? { requests: [], size: 0 }
    this.#sessions.delete(id)
    this.#sessions.set(id, session)
    return session
  }

  discard(id: string): void {
    this.#size -= this.#sessions.get(id)?.size ?? 0
    this.#sessions.delete(id)
  }

  /** Breaks the connection of the session that waits to be cut. */
  cut(id: string): void {
    this.#sessions.get(id)?.cut?.()
  }

  /** Counts the characters of a request body, and discards sessions beyond the limits. */
  addCharacters(id: string, characters: number): void {
    const session = this.#sessions.get(id)
    // It was discarded while the body was read.
    if (!session) return
    session.size += characters
    this.#size += characters
    for (const oldest of this.#sessions.keys()) {
      const fits = this.#sessions.size <= this.#maxSessions && this.#size <= this.#maxCharacters
      if (fits) break
      this.discard(oldest)
    }
  }
}
