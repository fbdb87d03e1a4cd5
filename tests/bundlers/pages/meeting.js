// A second capability is loaded while a turn runs.
import { customModel, runTurn } from 'turnlock'
import { runBundle } from 'turnlock/evidence'

export const run = async () => {
  let go
  const model = customModel(async function* () {
    yield { type: 'text', text: 'one ' }
    await new Promise((resolve) => (go = resolve))
    yield { type: 'text', text: 'two' }
  })
  const turn = runTurn({ model, messages: [{ role: 'user', content: 'go' }] })
  for await (const event of turn) {
    if (event.type !== 'text' || !go) continue
    const bundle = await runBundle({ task: 't', replicate: async () => ({ data: 1 }) }).result
    if (bundle.summary.confidence === 1) go()
  }
  return (await turn.result).text
}
