import { customModel, memoryStore, runTurn } from 'turnlock'

const model = customModel(async function* () {
  yield { type: 'text', text: 'kept' }
})

export const run = async () => {
  const messages = [{ role: 'user', content: 'go' }]
  const { status, text, error } = await runTurn({ model, messages, store: memoryStore() }).result
  return error?.code ?? `${status} ${text}`
}
