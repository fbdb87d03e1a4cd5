/** What a reader of a recording returns. */
import type { Dialect } from '../../types.js'

export type JsonObject = Record<string, any>

/** The conversation in a recording of an agent or a tracing tool. */
export interface Recording {
  /** Human-readable name, such as `"Codex session"`. */
  format: string
  /** Messages or items, as the agent sends them next. */
  history: JsonObject[]
  /** The provider whose messages these are; undefined for those of a framework. */
  dialect?: Dialect
}

/** Returns undefined for records of another format. */
export type Reader = (records: readonly JsonObject[]) => Recording | undefined

/** Values as a list: `undefined` is none, and any other value is one. */
export const listOf = (value: unknown): any[] =>
  value === undefined || value === null ? [] : Array.isArray(value) ? value : [value]

/** Parses JSON; undefined for any other text. */
export function tryJson(text: unknown): unknown {
  if (typeof text !== 'string') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
