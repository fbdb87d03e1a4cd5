/** Tells a host of its turns: `onEvent` and `onEnd`. */
import { parsed, turnKey } from '../turn/kept.js'
import { quietly } from '../shared/quietly.js'
import type { Redactor } from '../redactor/index.js'
import type { Store } from '../stores/store.js'
import type { Turn } from '../turn/turn.js'
import type { TurnResult } from '../types.js'
import { optional } from './body.js'
import type { HandlerOptions, Session } from './options.js'

type Hooks<S extends Session> = Pick<HandlerOptions<S>, 'onEnd' | 'onEvent'>

/** Tells `onEvent` every event, whether or not a client reads. */
export async function tellEvents<S extends Session>(
  hooks: Hooks<S>,
  tenant: string,
  turn: Turn,
  redactor: Redactor | undefined,
): Promise<void> {
  if (!hooks.onEvent) return
  for await (const event of turn) {
    const { requestId, conversationId } = event
    const conversation = optional('conversationId', conversationId)
    const about = { tenant, requestId, ...conversation, ...optional('redactor', redactor) }
    quietly(() => hooks.onEvent?.(event, about))
  }
}

/** Failures behind which a turn can be resumed, has another owner, or never began. */
const GOES_ON =
  /^(model|store|core|message|json)\.|^turn\.(conflict|cancelled|not_found)$|^tool\.(missing|no_(result|approval|call|claim))$/

/**
 * Tells `onEnd` of a turn that has ended for good. Rejects with what it throws.
 *
 * @param messages the history that it began with; without it, the store's
 */
export async function tellEnd<S extends Session>(
  hooks: Hooks<S>,
  tenant: string,
  store: Store,
  result: TurnResult,
  messages: unknown[] | undefined,
): Promise<void> {
  const { requestId, conversationId, status, error } = result
  if (!hooks.onEnd || status === 'paused' || (error && GOES_ON.test(error.code))) return
  const about = { tenant, requestId, ...optional('conversationId', conversationId) }
  const history = messages ?? (await historyOf(store, turnKey(tenant, requestId)))
  await hooks.onEnd(result, { ...about, messages: history })
}

/** The history that a stored turn began with. */
async function historyOf(store: Store, key: string): Promise<unknown[]> {
  const stored = await store.read(key)
  const [, text = '{}'] = stored?.records.find(([name]) => name === 'turn') ?? []
  return parsed<{ messages?: unknown[] }>(text).messages ?? []
}
