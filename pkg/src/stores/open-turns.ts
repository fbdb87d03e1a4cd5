/** The open turns of a Durable Object, of all its tenants. Reads the tables of durable-object.ts. */
import type { DurableObjectStateLike } from './durable-object.js'
import { unpack } from './text.js'

/** @returns names of turns, with the time of their last commit. At most `most`, the oldest first. */
export function openTurns(
  { storage }: DurableObjectStateLike,
  most: number,
): { turn: string; at: number }[] {
  const query = `SELECT turn, at FROM turnlock_turns WHERE open = 1 AND expires > ? ORDER BY at LIMIT ?`
  const rows = [...storage.sql.exec(query, Date.now(), most)] as { turn: string; at: number }[]
  return rows.map(({ turn, at }) => ({ turn: unpack(turn), at }))
}
