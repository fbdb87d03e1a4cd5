/** Formats of other clients: what their requests ask for, and how they read events. */
import type { Approval, CallOutcome } from '../turn/resume.js'
import type { Store } from '../stores/store.js'
import type { TurnEvent } from '../types.js'
import type { Fields } from './body.js'

/** The formats besides that of the package. Each is loaded with the first request that needs it. */
export type FormatName = 'ai-sdk' | 'ag-ui'

/** What a request asks for: a turn, or that one goes on. */
export type Asked =
  | { messages: unknown[]; requestId?: string; conversationId?: string; run?: string }
  | {
      /** Of the outcomes only those of calls that wait for a page count. */
      resume: {
        requestId: string
        approvals: Approval[]
        outcomes: CallOutcome[]
      }
      /** Begins a turn where nothing in them answers that one. */
      messages?: unknown[]
      conversationId?: string
      run?: string
    }

/** Writes the events of one response. */
export interface Writer {
  /** Takes events that the client has from earlier responses. */
  seen(events: readonly TurnEvent[]): void
  text(event: TurnEvent): string
  /** Writes what follows the last event. */
  end(): string
  /** Headers of the response. */
  headers: Record<string, string>
}

/** The turn of a response. */
export interface WriterOf {
  requestId: string
  conversationId?: string | undefined
  run?: string | undefined
  /** Which text and reasoning a resume has made void, by `seq`. */
  isVoid?: (seq: number) => boolean
}

/** A format. */
export interface Format {
  /** @throws Refusal 400 for a body that is not of this format */
  read(body: Fields): Asked
  writer(of: WriterOf): Writer
  /** Finds the open turn of a chat, for clients that know no ids of turns. */
  chats?: Chats
}

/** Which turn of a chat is the last one. */
export interface Chats {
  began(store: Store, tenant: string, chat: string, requestId: string, ttlMs: number): Promise<void>
  /** The last turn, if a client may have to see it again: it runs, or waits for an approval. */
  open(store: Store, tenant: string, chat: string): Promise<string | undefined>
}

/** Loads a format. */
export async function loadFormat(name: FormatName): Promise<Format> {
  return name === 'ai-sdk'
    ? (await import('../adapters/ai-sdk/format.js')).aiSdkFormat
    : (await import('../adapters/ag-ui/format.js')).agUiFormat
}
