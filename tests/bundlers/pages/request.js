import { customModel } from 'turnlock'
import { runPlanning } from 'turnlock/planning'

const model = customModel(async function* () {
  yield { type: 'text', text: 'a plan' }
})

export const run = () =>
  runPlanning({ model, input: {} }).then(
    ({ plan }) => plan,
    ({ code }) => code,
  )
