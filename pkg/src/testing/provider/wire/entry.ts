// @ts-nocheck
// What all wires make of an entry: one of `model` in a scenario table (see tests/scenarios).

/** @typedef {{ id: string, name: string, args?: unknown, argsText?: string, fragments?: number }} Call */
/**
 * @typedef {object} Entry One scripted response.
 * @property {string[]} [reasoning] one delta each
 * @property {string[]} [text] one delta each
 * @property {Call[]} [calls]
 * @property {any[]} [blocks] of tools that the provider runs itself, in its own shape
 * @property {string[]} [textAfter] text behind the calls
 * @property {string} [finish] default: `tool_calls` with calls, else `stop`
 * @property {{ input: number, output: number }} [usage] tokens; default 10 and 5
 * @property {'cut' | 'end' | 'stall' | 'stall_head' | 'error' | 'malformed'} [then] instead of finishing
 * @property {string} [page] the page of a gateway, with status 200, instead of a stream
 * @property {number} [bytes] of one write; default: an event
 * @property {number} [paceMs] between two writes; default 0
 * @property {number} [status] an HTTP failure instead of a stream
 * @property {string} [message] of that failure
 * @property {string} [location] where it redirects to
 * @property {number} [retryAfterMs] of that failure
 */
/**
 * @typedef {object} View What a request says, whatever its wire.
 * @property {{ name: string, schema?: any }[]} tools those that are declared
 * @property {string | null} choice `none` where tools may not be called
 * @property {string} system the system prompt outside the messages
 * @property {unknown[]} list the messages as they came
 * @property {{ role: string, text: string, results: string[] }[]} messages
 */
/** @typedef {{ n?: number, body?: any }} Place `n`: which request of the session, from 1. */

/** The name of a member that is not known. */
export const unknown = (value, known) => Object.keys(value).find((key) => !known.includes(key))

export const usageOf = ({ usage }) => ({ input: 10, output: 5, ...usage })
export const finishOf = ({ finish, calls }) => finish ?? (calls?.length ? 'tool_calls' : 'stop')

/**
 * The arguments of a call as the pieces in which they are sent: half of them where the
 * connection breaks in the middle.
 * @returns {string[]}
 */
export function argumentPieces({ args, argsText, fragments = 1 }, cut = false) {
  const whole = argsText ?? JSON.stringify(args ?? {})
  const text = cut ? whole.slice(0, Math.ceil(whole.length / 2)) : whole
  const size = Math.max(1, Math.ceil(text.length / fragments))
  const pieces = []
  for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size))
  return pieces
}

/** The same as a value: a whole response of these wires cannot hold arguments that are no JSON. */
export function argumentsOf({ args = {}, argsText }) {
  if (argsText === undefined) return args
  try {
    return JSON.parse(argsText)
  } catch {
    return {}
  }
}

/** Whether this call is the one in whose arguments the connection breaks. */
export const isCut = ({ then, calls }, index) => then === 'cut' && index === calls.length - 1
