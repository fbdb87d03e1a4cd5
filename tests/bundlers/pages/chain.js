import { runChain } from 'turnlock/chain'

export const run = async () => {
  const nothing = async () => ({})
  const steps = { plan: nothing, search: nothing, synthesize: nothing }
  const chain = runChain({ query: 'hi', answer: async () => 'answered', ...steps })
  const { status, text, error } = await chain.result
  return error?.code ?? `${status} ${text}`
}
