import { canonicalize, signature } from 'turnlock'

export const run = () =>
  `${canonicalize('{"b":1.0,"a":2}')} ${signature({ tool: 't', args: { a: 1 } }).length}`
