// The root entry and the entries of evidence, planning and chains in one namespace: what plays a
// table gets it as an argument, in every runtime.
export * from 'turnlock'
export * from 'turnlock/evidence'
export * from 'turnlock/planning'
export * from 'turnlock/chain'
