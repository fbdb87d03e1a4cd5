// Hosts, stores and clocks that do one thing wrong on purpose. Each names the rule that has to notice,
// and where that takes many schedules, the machines and faults of those that do.
import { customModel, openHistory, runTurn } from 'turnlock'

/** A store whose answers to a method are changed. */
const changed = (method, change) => (store) => ({
  ...store,
  [method]: async (...given) => change(await store[method](...given), given),
})

/** Every tenth time. */
function sometimes() {
  let n = 0
  return () => ++n % 10 === 0
}

const asleep = customModel(async function* (_, { signal }) {
  await new Promise((resolve) => signal.addEventListener('abort', resolve))
})

export const WRONG = {
  'a timer is lost': { rule: 'all settles', loses: sometimes() },
  'a tool leaves a promise that fails': {
    rule: 'nothing unhandled',
    inTool: () => void Promise.reject(new Error('nobody looks')),
  },
  'the last event comes twice': {
    rule: 'one end',
    events: (machine) => ({
      async *[Symbol.asyncIterator]() {
        let last
        for await (const event of machine) yield (last = event)
        if (last) yield { ...last }
      },
    }),
  },
  'a turn may call more tools': {
    rule: 'budget',
    policy: (own) => ({
      ...own,
      maxTools: own.maxTools + 1,
      actionMaxTools: own.actionMaxTools + 1,
    }),
  },
  'a pass may call more tools': {
    rule: 'budget',
    pass: (own) => ({ ...own, maxToolCalls: own.maxToolCalls + 1 }),
  },
  'a pass may ask more often': {
    rule: 'budget',
    kind: 'pass',
    pass: (own) => ({ ...own, maxIterations: own.maxIterations + 1 }),
  },
  'a turn may ask more often': {
    rule: 'budget',
    kind: 'turn',
    faults: [],
    policy: (own) => ({ ...own, maxSteps: own.maxSteps + 1 }),
  },
  'every tool says that it only reads': {
    rule: 'only reads',
    kind: 'pass',
    shape: { readOnly: true },
  },
  'a bundle has more replicates': { rule: 'budget', bundle: (own) => ({ ...own, k: own.k + 1 }) },
  'more replicates run at once': {
    rule: 'budget',
    bundle: (own) => ({ ...own, concurrency: own.concurrency + 1 }),
  },
  'a replicate is tried once more': {
    rule: 'budget',
    bundle: (own) => ({ ...own, retries: own.retries + 1 }),
  },
  'a chain runs more steps at once': {
    rule: 'budget',
    chain: (own) => ({ ...own, maxParallel: own.maxParallel + 1 }),
  },
  'a chain tries once more': {
    rule: 'budget',
    chain: (own) => ({ ...own, maxRetries: own.maxRetries + 1 }),
  },
  'a chain spends more': { rule: 'budget', chain: ({ maxCost, ...own }) => own },
  'a chain runs more steps': {
    rule: 'budget',
    chain: (own) => ({ ...own, maxSteps: own.maxSteps + 1 }),
  },
  'every tool says that it may run again': {
    rule: 'at most once',
    kind: 'turn',
    faults: [],
    shape: { idempotent: true },
  },
  'nobody is fenced off': {
    rule: 'kept first',
    kind: 'turn',
    faults: [],
    store: (store) => ({
      ...store,
      async commit(turn, one) {
        const kept = await store.read(turn)
        const { owner, revision } = kept ?? { ...one, revision: one.revision - 1 }
        return store.commit(turn, { ...one, owner, revision: revision + 1 })
      },
    }),
  },
  'the store answers first and writes later': {
    rule: 'kept first',
    commit: (apply, clock) => async () => {
      void clock
        .passes(200)
        .then(apply)
        .catch(() => {})
      return { ok: true }
    },
  },
  'nobody hears of a cancel': { rule: 'nothing behind the end', deaf: ({ depth }) => depth > 0 },
  'a tool that fails ends the pass': {
    rule: 'a plan',
    kind: 'pass',
    faults: ['tool throws'],
    planned: async (pass) => {
      const result = await pass
      if (result.calls.some(({ status }) => status === 'error')) throw new Error('a tool failed')
      return result
    },
  },
  'a tenant gets what another one kept': {
    rule: 'tenants',
    kind: 'turn',
    faults: [],
    store(store) {
      let last
      const commit = (turn, one) => {
        for (const [, text] of one.reusable) last = { text, ageMs: 1 }
        return store.commit(turn, one)
      }
      return { ...store, commit, recall: async () => last }
    },
  },
  'the turns of all tenants have one place': {
    rule: 'tenants',
    store(store) {
      const place = (key) => JSON.stringify(['', JSON.parse(key)[1]])
      const own = (name) => [name, (key, ...rest) => store[name](place(key), ...rest)]
      return {
        ...store,
        ...Object.fromEntries(['read', 'commit', 'events', 'idle', 'watch'].map(own)),
      }
    },
  },
  'no owner is ever gone': {
    rule: 'resumable',
    kind: 'turn',
    store: changed('read', (kept) => kept && { ...kept, idleMs: 0 }),
  },
  'the store forgets events': {
    rule: 'resumable',
    store: changed('events', (groups) => groups.slice(0, -1)),
  },
  'a watch is never ended': { rule: 'nothing is left', watchesOn: true },
  'a listener stays': { rule: 'nothing is left', listensOn: true },
  'a tool opens a history and keeps it': {
    rule: 'nothing is left',
    inTool: () => void openHistory({ dialect: 'anthropic' }),
  },
  'a tool begins a turn and leaves it': {
    rule: 'nothing is left',
    inTool: () => void runTurn({ model: asleep, messages: [{ role: 'user', content: 'go' }] }),
  },
}
