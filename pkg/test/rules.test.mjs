// The peers' stop rules of benches/bundle are what their papers say.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import {
  adaptive,
  exact,
  fixed,
  posterior,
  unanimous,
  windows,
} from '../../benches/bundle/rules.mjs'
import { data } from '../../tests/data.mjs'

const given = (name) => JSON.parse(readFileSync(data(`stats/given/${name}`)))
const near = (got, want, what) => assert.ok(Math.abs(got - want) < 1e-9, `${what}: ${got}, ${want}`)

test('vectors of the rules', () => {
  let checked = 0
  for (const { id, op, input, expected } of given('stop.json').cases) {
    if (op === 'beta_posterior') {
      const probability = posterior(input.leader, input.runner_up)
      near(probability, expected.probability, id)
      assert.equal(probability >= input.threshold, expected.stop, id)
    } else if (op === 'esc_window') assert.equal(unanimous(input.window), expected.stop, id)
    else continue
    checked++
  }
  assert.equal(checked, 7)
})

test('the simulated agents', () => {
  const { populations, expected } = given('agents.json')
  const rules = {
    fixed_3: fixed(3),
    esc_w2_max4: windows(2, 4),
    'ac_beta_0.95_max5': adaptive(0.95, 5),
    'ac_beta_0.85_max5': adaptive(0.85, 5),
  }
  for (const { population, answer_probabilities: questions } of populations) {
    for (const [name, rule] of Object.entries(rules)) {
      const { accuracy, replicates } = exact(questions, rule)
      near(accuracy, expected[population][name].accuracy, `${population} ${name}`)
      near(replicates, expected[population][name].mean_replicates, `${population} ${name}`)
    }
  }
})
