/**
 * Requests to models in a HAR file, the export of a browser's network tab.
 *
 * Source: HTTP Archive 1.2, w3c.github.io/web-performance/specs/HAR/Overview.html (read 2026-11-30).
 */
import { isObject } from '../../checks.js'
import { listOf, tryJson, type JsonObject } from './recording.js'

/** A request with a JSON body, and the response to it. */
export interface RecordedRequest {
  url: string
  body: unknown
  /** 0 if there was none. */
  status: number
  /** Text of the response; empty if the file does not have it. */
  response: string
}

/** Returns undefined for any other JSON. */
export function harRequests(value: JsonObject): RecordedRequest[] | undefined {
  const { log } = value
  if (!isObject(log) || !Array.isArray(log['entries'])) return undefined
  return listOf(log['entries']).flatMap((entry): RecordedRequest[] => {
    if (!isObject(entry) || !isObject(entry['request'])) return []
    const { url, postData } = entry['request'] as JsonObject
    const body = tryJson(isObject(postData) ? postData['text'] : undefined)
    if (body === undefined) return []
    const { status, content } = (isObject(entry['response']) ? entry['response'] : {}) as JsonObject
    return [{ url: String(url), body, status: Number(status) || 0, response: textOf(content) }]
  })
}

function textOf(content: unknown): string {
  const { text, encoding } = (isObject(content) ? content : {}) as JsonObject
  if (typeof text !== 'string') return ''
  if (encoding !== 'base64') return text
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
    return new TextDecoder().decode(bytes)
  } catch {
    return ''
  }
}
