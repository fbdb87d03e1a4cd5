// The rule of every store as a table, which the core (tests/core/model.rs), the package's own `judge`
// and the script in Redis all have to keep.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { commitOf } from './commits.mjs'

const rows = JSON.parse(readFileSync(new URL('rule.json', import.meta.url), 'utf8'))

/** `{ name, stands, commit, judgement }` of each row. */
export const RULE = rows.map(
  ({ stands, owner, revision, takeOver, replaces = null, judgement }) => ({
    name: `${stands?.join(' ') ?? 'nothing'} ← ${owner} ${revision}${takeOver ? ` takes over ${JSON.stringify(replaces)}` : ''}`,
    stands: stands && { owner: stands[0], revision: stands[1], open: stands[2] === 'open' },
    commit: commitOf(owner, revision, { takeOver, replaces, state: 'new' }),
    judgement,
  }),
)

/** Has a store judge every row. */
export async function playRule(store) {
  for (const { name, stands, commit, judgement } of RULE) {
    const turn = `rule: ${name}`
    for (let revision = 1; revision <= (stands?.revision ?? 0); revision++) {
      const open = stands.open || revision < stands.revision
      const before = commitOf(stands.owner, revision, { open, state: 'old' })
      assert.deepEqual(await store.commit(turn, before), { ok: true }, name)
    }
    const answer = await store.commit(turn, commit)
    const kept = await store.read(turn)
    const { owner, revision, open } = judgement === 'apply' ? commit : (stands ?? {})
    const state = judgement === 'apply' ? 'new' : stands ? 'old' : undefined
    const left = kept && [kept.owner, kept.revision, kept.open, kept.state]
    assert.deepEqual(left, state && [owner, revision, open, state], name)
    const told = stands ? { ok: false, ...stands, state } : { ok: false }
    assert.deepEqual(answer, judgement === 'refuse' ? told : { ok: true }, name)
  }
}
