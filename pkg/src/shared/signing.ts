/** Signatures of calls, by any part of the core that signs. */
import { answer, encode, type Part } from '../core/instance.js'
import type { SignatureGlue } from '../core/glue.js'
import { TurnlockError, wrong } from '../errors.js'
import { requireWellFormed, stringify } from './text.js'

/** A call to sign. `args` is a value, or a string of JSON text. */
export interface SignedCall {
  tool: string
  action?: string | null | undefined
  args: unknown
  projectId?: string | null | undefined
}

/** @throws TurnlockError the `json.*` codes of `canonicalize` */
export function canonicalText(part: Part<SignatureGlue>, json: string): string {
  if (typeof json !== 'string') {
    throw new TurnlockError('json.syntax', 'canonicalize takes JSON as a string')
  }
  requireWellFormed(json)
  const bytes = encode(json)
  return answer(part.call((glue) => glue.canonicalize(bytes))).slice(1)
}

/** @throws TurnlockError the `json.*` codes of `canonicalize`, and `options.invalid` */
export function signCall(part: Part<SignatureGlue>, call: SignedCall): string {
  const { tool, action = null, args, projectId = null } = Object(call) as SignedCall
  // What the core does not read would leave a call the signature of another one.
  for (const [name, value] of Object.entries({ tool, action, projectId })) {
    if (typeof value !== 'string' && (value !== null || name === 'tool'))
      throw wrong(name, 'a string')
  }
  // Text with something after its JSON value would change the object around it.
  const text = typeof args === 'string' ? canonicalText(part, args) : stringify(args)
  const around = JSON.stringify({ action, projectId, tool })
  requireWellFormed(`${tool}${action ?? ''}${projectId ?? ''}`)
  const bytes = encode(`{"args":${text},${around.slice(1)}`)
  return answer(part.call((glue) => glue.signature(bytes)))
}
