/** Recordings of coding agents, frameworks and tracing tools. */
import { readClaudeCode } from './claude-code.js'
import { readCodex, readCodexEvents } from './codex.js'
import { readGeminiCli, readQwenCode } from './gemini-cli.js'
import { readOpencode } from './opencode.js'
import type { JsonObject, Recording } from './recording.js'
import { readSteps } from './steps.js'

export { harRequests, type RecordedRequest } from './har.js'
export type { JsonObject, Recording } from './recording.js'
export { readSpans } from './spans.js'

const READERS = [
  readCodex,
  readCodexEvents,
  readGeminiCli,
  readQwenCode,
  readClaudeCode,
  readOpencode,
  readSteps,
]

/**
 * Reads the session of an agent, or the steps of the AI SDK.
 *
 * @param records lines of a file, elements of a list, or one object
 */
export function readRecording(records: readonly JsonObject[]): Recording | undefined {
  for (const read of READERS) {
    const found = read(records)
    if (found) return found
  }
  return undefined
}
