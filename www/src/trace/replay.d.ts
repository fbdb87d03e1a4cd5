// For the command `turnlock replay`.
import type { TurnEvent, TurnResult } from 'turnlock'
import type { callsOf } from './calls.js'

export function replay(
  found: ReturnType<typeof callsOf>,
  maxTools: number,
  log: object,
  onEvent: (event: TurnEvent) => void,
): Promise<TurnResult>
