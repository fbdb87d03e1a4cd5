/** Failures of turns and runs: which are the server's, and what a client is told of them. */
import { TurnlockError } from '../errors.js'
import type { TurnEvent, TurnFailure } from '../types.js'
import { Refusal, refusalOf } from './refusal.js'

const FAILED: Record<string, string> = {
  'model.failed': 'the model failed',
  'model.redirected': 'the model could not be reached',
  'model.status': 'the model refused the request',
  'model.empty': 'the response of the model was empty',
  'model.stream': 'the response of the model broke',
  'model.timeout': 'the model took too long',
  'model.truncated': 'the response of the model was cut off',
  'model.unreachable': 'the model could not be reached',
}

/** Whether a failure is the server's: a failure of its model, its store or the core. */
export const isOurs = ({ code }: { code: string }): boolean => /^(model|store|core)\./.test(code)

/** The message that a client gets of such a failure. */
export const wordsOf = (code: string): string =>
  (Object.hasOwn(FAILED, code) && FAILED[code]) || 'the server failed'

/** The refusal for errors of the history, the only client input that the core parses. */
export const historyRefusal = (code: string, message: string): Refusal | undefined =>
  /^(message|json)\./.test(code) ? new Refusal(400, code, message) : undefined

export const failed = (): Refusal => new Refusal(500, 'server.failed', 'the server failed')

/** The refusal for a failure of a turn or a store. Details of server errors are not sent. */
export const refusalFor = ({ code, message }: { code: string; message: string }): Refusal =>
  refusalOf(code, message) ?? historyRefusal(code, message) ?? failed()

export const failureOf = ({ code, message, details }: TurnFailure): TurnlockError =>
  new TurnlockError(code, message, details && { ...details })

type ErrorEvent = Extract<TurnEvent, { type: 'error' }>

/**
 * An `error` event as a client gets it. The messages of model and store failures come from other
 * software and can contain a URL or a key, so only `onError` receives them. The client receives the
 * code, the status and a fixed message.
 */
export function shownError(event: ErrorEvent): ErrorEvent {
  if (!isOurs(event)) return event
  const status = event.details?.status
  const words = wordsOf(event.code)
  return { ...event, message: status === undefined ? words : `${words} (status ${status})` }
}
