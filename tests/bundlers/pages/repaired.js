import { customModel, runTurn } from 'turnlock'

const model = customModel(async function* () {
  yield { type: 'text', text: 'fine' }
})
const asked = { role: 'user', content: 'go' }
const call = { id: 'c', name: 'look', args: {} }
// A call without a result: the small part leaves this history to the other one.
const open = [asked, { role: 'assistant', toolCalls: [call] }, asked]

const turn = async (messages) => {
  const { status, repairs, error } = await runTurn({ model, messages }).result
  return error?.code ?? `${status} ${repairs.length}`
}

export const plain = () => turn([asked])
export const run = () => turn(open)
