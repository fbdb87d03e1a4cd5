// Runs in a page of Firefox: the suite for stores, a turn that goes on in another one, and a database
// that fills up. Reports by a request.
import { customModel, defineTool, resumeTurn, runTurn } from 'turnlock'
import { indexedDbStore } from 'turnlock/stores/indexeddb'
import { storeConformance } from 'turnlock/testing'
import { commitOf } from './commits.mjs'

const parameters = new URLSearchParams(location.search)
const inputSchema = { type: 'object' }

/** The names of failed cases, each with its error. */
async function suite() {
  const failed = []
  const cases = storeConformance(async () => indexedDbStore({ name: 'suite' }))
  for (const { name, run } of cases) {
    await run().catch((error) => failed.push(`${name}: ${error.code ?? ''} ${error.message}`))
  }
  return { cases: cases.length, failed }
}

/** A turn that pauses for an approval, and is resumed from the store. */
async function turns() {
  const store = indexedDbStore({ name: 'turns' })
  let requests = 0
  const model = customModel(async function* () {
    if (requests++ > 0) return yield { type: 'text', text: 'It is there.' }
    yield { type: 'tool_call_start', index: 0, id: 'c', name: 'look' }
    yield { type: 'tool_call_arguments', index: 0, text: '{}' }
    yield { type: 'tool_call_end', index: 0 }
  })
  let runs = 0
  const tools = {
    look: defineTool({
      description: 'Looks.',
      inputSchema,
      needsApproval: true,
      execute: () => ({ run: ++runs }),
    }),
  }
  const messages = [{ role: 'user', content: 'Look.' }]
  const options = { model, tools, store, requestId: 'turn' }
  const paused = await runTurn({ ...options, messages }).result
  if (paused.status !== 'paused') return [paused.status, paused.error?.code]
  const approvals = paused.approvals.map(({ signature }) => ({ signature, approved: true }))
  const { status, text, error } = await resumeTurn({ ...options, approvals }).result
  return [paused.status, status, error?.code ?? text, runs]
}

/** Commits until one fails: its code, and what is stored. */
async function fill() {
  const store = indexedDbStore({ name: 'full' })
  const random = () =>
    Array.from(crypto.getRandomValues(new Uint8Array(2 ** 16)), (byte) => byte.toString(36)).join(
      '',
    )
  let code
  let written = 0
  while (code === undefined && written < 2_000) {
    const records = [[`r${written}`, Array.from({ length: 8 }, random).join('')]]
    const revision = written + 1
    await store.commit('t', commitOf('o', revision, { records })).then(
      () => written++,
      (error) => (code = error.code ?? String(error)),
    )
  }
  const { revision, records } = await store.read('t')
  return { code, isWhole: revision === written && records.length === written, isSome: written > 3 }
}

const found = {}
try {
  // The suite alone may fill a small storage.
  const parts = parameters.has('fill') ? { fill } : { suite, turns }
  for (const [name, run] of Object.entries(parts)) {
    found[name] = await run()
  }
} catch (error) {
  found.error = `${error.code} ${error.message} ${error.stack}`
}
await fetch('/found', { method: 'POST', body: JSON.stringify(found) })
