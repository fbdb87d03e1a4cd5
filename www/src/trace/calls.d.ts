export interface Call {
  name: string
  args: string
}

export function groupsOf(calls: Call[]): (Call & { places: number[] })[]
