// For the commands `turnlock doctor` and `turnlock replay`, which read as the page does.
export interface Call {
  name: string
  args: string
  /** The number of the user turn. */
  turn: number
}

export function groupsOf(calls: Call[]): (Call & { places: number[] })[]
export function callsOf(history: unknown[]): { calls: Call[]; steps: object[]; messages: object[] }
