// Records what a real provider sends: `npm run record -- --provider anthropic --model <model>`. The key
// is in the variable that the provider's own SDK reads, or in TURNLOCK_KEY. CONTRIBUTING.md has the rest.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from '../../scripts/build.mjs'
import { root } from '../../scripts/setup.mjs'
import { main } from '../../scripts/tasks.mjs'

const OPTIONS = {
  provider: { type: 'string' },
  model: { type: 'string' },
  'base-url': { type: 'string' },
  only: { type: 'string' },
  to: { type: 'string' },
}

await main(async () => {
  const { values } = parseArgs({ options: OPTIONS })
  const { provider: dialect, model, 'base-url': baseURL, only } = values
  await build()
  const { PROVIDERS } = await import('turnlock')
  const known = PROVIDERS.filter(({ client }) => client)
  const info = known.find((provider) => provider.dialect === dialect)
  if (!info) {
    const names = known.map((provider) => provider.dialect).join(', ')
    throw new Error(`--provider must be one of ${names}`)
  }
  if (!model) throw new Error('--model is missing: the name of a model of the provider')
  const variable = info.keyVariable ?? 'TURNLOCK_KEY'
  const apiKey = process.env.TURNLOCK_KEY || process.env[variable]
  if (!apiKey) throw new Error(`The key is missing: set ${variable} or TURNLOCK_KEY`)
  const { recordAll } = await import('./record.mjs')
  const recordings = await recordAll(
    { dialect, model, apiKey, only, ...(baseURL && { baseURL }) },
    (name) => console.log(name),
  )
  const folder = values.to ?? join(root, 'tests/data/recordings', dialect)
  mkdirSync(folder, { recursive: true })
  for (const recording of recordings) {
    const file = join(folder, `${recording.name}.json`)
    writeFileSync(file, `${JSON.stringify(recording, null, 1)}\n`)
  }
  const failed = recordings.filter(({ error }) => error)
  for (const { name, error } of failed) console.log(`${name}: ${error.code}: ${error.message}`)
  console.log(`${recordings.length} recorded, ${failed.length} ended with an error`)
})
