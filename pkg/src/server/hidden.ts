/** Events of a stored turn, redacted. */
import type { Redactor } from '../redactor/index.js'
import type { Store } from '../stores/store.js'
import { eventsIn, inTime } from '../turn/kept.js'
import type { TurnEvent } from '../types.js'

/**
 * The events after a `seq`, redacted. What may be shown of a text depends on all that stands before
 * it, whatever the client says that it has, so all is read that is kept. Where the first events are
 * not kept any longer, the first texts may go on a secret of theirs, and are left out.
 */
export async function* hidden(
  redactor: Redactor,
  open: (after: number) => AsyncIterable<TurnEvent>,
  store: Store,
  key: string,
  after: number,
): AsyncGenerator<TurnEvent, void, undefined> {
  const first = await firstKept(store, key)
  // They are gone, which the reading says.
  if (after < first - 1) return yield* redactor.events(open(after))
  const begun = { text: 0, reasoning: 0 }
  let last = first - 1
  for await (const event of redactor.events(open(last))) {
    // An error of the reading has the number of the event before it.
    const isNew = event.seq > after || event.seq === last
    last = event.seq
    let visible: TurnEvent = event
    if (first > 1 && (event.type === 'text' || event.type === 'reasoning')) {
      if (begun[event.type] < LONGEST_SECRET) visible = { ...event, chunk: '' }
      begun[event.type] += event.chunk.length
    }
    if (isNew) yield visible
  }
}

/**
 * Characters of a text, shown, after which it is no part of a secret that began before.
 *
 * Limit | text that is held back where the first events were dropped | characters | shown
 */
const LONGEST_SECRET = 65_536

/** The number of the first event that is kept; 1 where none is, or none can be read. */
async function firstKept(store: Store, key: string): Promise<number> {
  const [group] = await inTime(store.events(key, 0, 1)).catch(() => [])
  return (group && eventsIn(group.text)[0]?.seq) ?? 1
}
