import { customModel, runWithToolRequests } from 'turnlock'

const model = customModel(async function* () {
  yield { type: 'text', text: 'a plan' }
})

export const run = () =>
  runWithToolRequests({ model, input: {} }).then(
    ({ plan }) => plan,
    ({ code }) => code,
  )
