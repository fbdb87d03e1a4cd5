// Real kills and freezes, a few per cell, and the audit: each check is shown to convict. The
// published numbers come from the same trials, many more of them: npm run kills.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after, before, describe } from 'node:test'
import { openBench, startReceiver } from './bench.mjs'
import { ANYWHERE, LANDMARKS } from './landmarks.mjs'
import { lines } from './lines.mjs'
import { runTrial } from './trial.mjs'
import { KINDS } from './turn.mjs'

let bench
before(async () => (bench = await openBench()))
after(() => bench.close())

const lanes = { concurrency: 4 }

for (const [fault, seeds] of [
  // By its own hand and by the parent's; two that go on, and one.
  ['kill', [1, 2]],
  ['freeze', [4]],
  ['kill twice', [3]],
]) {
  describe(fault, lanes, () => {
    for (const landmark of [...LANDMARKS, ANYWHERE]) {
      for (const kind of Object.keys(KINDS)) {
        test(`${landmark}, ${kind}`, async () => {
          const seen = []
          for (const seed of seeds)
            seen.push(await runTrial(bench, { fault, landmark, kind }, seed))
          for (const { faults, seed } of seen) assert.deepEqual(faults, [], `seed ${seed}`)
          // At any time at all may be too late; at a landmark never is.
          if (landmark === ANYWHERE || fault === 'kill twice') return
          for (const { void: why, seed } of seen) assert.equal(why, undefined, `seed ${seed}`)
        })
      }
    }
  })
}

describe('twins that are wrong on purpose are convicted', lanes, () => {
  for (const [wrong, fault, landmark, kind, seed, conviction] of [
    ['writes behind', 'kill', 'effect applied', 'plain', 1, /without a claim.*started 2 times/],
    ['retries claims', 'kill', 'effect applied', 'plain', 2, /had its effect 2 times/],
    ['retries claims', 'kill', 'tool started', 'plain', 3, /started 2 times/],
    ['forgets outcomes', 'kill', 'outcome kept', 'plain', 2, /told , kept is ok/],
    ['new keys', 'kill', 'tool returned', 'idempotent', 2, /2 idempotency keys/],
    ['no fence', 'kill', 'outcome kept', 'plain', 1, /2 of 2 finished/],
    ['no fence', 'freeze', 'in the answer', 'plain', 2, /stale write/],
    ['loses events', 'kill', 'in the answer', 'plain', 2, /reader has seen something else/],
  ]) {
    test(`${wrong}: ${fault} at: ${landmark}, ${kind}`, async () => {
      const { faults } = await runTrial(bench, { fault, landmark, kind, wrong }, seed)
      assert.match(faults.join('; '), conviction)
    })
  }
})

describe('a receipt is on the disk before the receiver answers', () => {
  for (const early of ['', 'early']) {
    test(early ? 'one that answers first is convicted' : 'killed at its answer', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'turnlock-receiver-'))
      let missing = 0
      for (let n = 0; n < 8; n++) {
        const { child, url } = await startReceiver(folder, early)
        const body = JSON.stringify({ trial: `t${n}` })
        await fetch(url, { method: 'POST', body })
        child.kill('SIGKILL')
        await once(child, 'exit')
        missing += 1 - lines(folder, `t${n}.receipts`).length
      }
      rmSync(folder, { recursive: true })
      assert.equal(missing, early ? 8 : 0)
    })
  }
})
