// Only compiled: a member that is misspelt, missing or of another type is an error, in what drivers
// send to the core and in what they read of it.
import type { BundleEffect, BundleInput } from '../../dist/generated/evidence.js'
import type { ChainEffect, ChainInput } from '../../dist/generated/chain.js'
import type { TurnEffect, TurnInput } from '../../dist/generated/turn.js'
import type { Driver } from '../../dist/driver/driver.js'
import type { BundleDriver } from '../../dist/evidence/driver.js'
import type { ChainDriver } from '../../dist/chain/driver.js'

type SentTo<D extends { send(input: never): void }> = Parameters<D['send']>[0]

const spent = { usage: null }
export const right: [TurnInput, BundleInput, ChainInput] = [
  { type: 'response_end', inference: 1, attempt: 1 },
  { type: 'settled', replicate: 0, attempt: 1, ...spent, errors: [] },
  { type: 'returned', call: 1, value: 'null', cost: null },
]

// What drivers take is what the rows declare, and nothing wider.
export const sent: [SentTo<Driver>, SentTo<BundleDriver>, SentTo<ChainDriver>] = right
// @ts-expect-error no such input
export const turn: SentTo<Driver> = { type: 'started' }
// @ts-expect-error no such input
export const bundle: SentTo<BundleDriver> = { type: 'started' }
// @ts-expect-error no such input
export const chain: SentTo<ChainDriver> = { type: 'started' }

// @ts-expect-error misspelt
export const misspelt: TurnInput = { type: 'response_end', inference: 1, atempt: 1 }
// @ts-expect-error missing
export const missing: TurnInput = { type: 'response_end', inference: 1 }
// @ts-expect-error of another type
export const typed: TurnInput = { type: 'response_end', inference: '1', attempt: 1 }
// @ts-expect-error misspelt within a member
export const nested: TurnInput = { type: 'tool_settled', call: 1, settled: { typ: 'ok' } }
// @ts-expect-error misspelt
export const replicate: BundleInput = { type: 'usage', replicat: 0, attempt: 1, usage: {} }
// @ts-expect-error without an outcome
export const outcome: BundleInput = { type: 'settled', replicate: 0, attempt: 1, ...spent }
// @ts-expect-error misspelt
export const call: ChainInput = { type: 'chunk', cal: 1, text: '' }

export function read(turn: TurnEffect, bundle: BundleEffect, chain: ChainEffect): unknown[] {
  // @ts-expect-error misspelt
  if (turn.type === 'run_tool') return [turn.maxResultBytes, turn.maxResultByte]
  // @ts-expect-error no such effect
  if (turn.type === 'run_tools') return []
  // @ts-expect-error misspelt
  if (bundle.type === 'run') return [bundle.seed, bundle.sed]
  // @ts-expect-error misspelt within a member
  if (chain.type === 'call' && chain.body.type === 'plan') return [chain.body.context.maxStep]
  return []
}
