/** Cases for the stored data: texts, names, events. */
import type { Store } from '../stores/store.js'
import { all, applied, begin, commitOf, HOUR, nameOf, newTurn, type Case } from './cases.js'
import { same } from './check.js'

/** Texts that some databases change. */
const TEXTS: Record<string, string> = {
  empty: '',
  spaces: '  \t\r\n ',
  'trailing space': 'a ',
  NUL: 'a\0b\0',
  'lone surrogates': 'a\ud800b\udc00',
  'a lone surrogate alone': '\udfff',
  'beyond the BMP': '😀\u{10ffff}',
  'composed and decomposed': 'é e\u0301',
  'controls and separators': '\u0001\u001f\u007f\u2028\u2029\ufeff',
  'escaped already': '\u0001"a\ud800"',
  'a number': '1e3',
  JSON: '{"a":[1,"\\u0000",null]}',
  null: 'null',
  quotes: `'"\`\\%_;--$1?`,
}

/** Ids that a database may confuse with each other, or that have a special meaning in it. */
const IDS = [
  '',
  ' ',
  'a',
  'A',
  'a ',
  'á',
  'a\u0301',
  'ａ',
  'a:b',
  'a/b',
  'a.b',
  'a,b',
  'a","b',
  'a\0b',
  '{a}',
  '{b}',
  '}',
  '{',
  '{}',
  '*',
  'a*',
  '%',
  '_',
  '__proto__',
  'constructor',
  'toString',
  '[',
  ']',
  '\\',
  '\ud800',
  '1',
  '01',
  '1.0',
  'null',
  'undefined',
  `${'k'.repeat(900)}1`,
  `${'k'.repeat(900)}2`,
]

/** Pairs that a simple concatenation could not distinguish. */
const PAIRS: [tenant: string, id: string][] = [
  ...IDS.map((id): [string, string] => ['t', id]),
  ...IDS.map((tenant): [string, string] => [tenant, 't']),
  ...([
    ['a:b', 'c'],
    ['a', 'b:c'],
    ['a","b', 'c'],
    ['a', 'b","c'],
    ['a/b', 'c'],
    ['a', 'b/c'],
    ['', 'a'],
    ['a', ''],
  ] satisfies [string, string][]),
]

const lasts = (groups: { last: number }[]) => groups.map(({ last }) => last)

/** Begins a turn and writes a group of events up to each of `ends`. */
async function eventful(store: Store, turn: string, ends: number[]) {
  const owner = await begin(store, turn)
  for (const [at, last] of ends.entries()) {
    const events = { last, text: `["up to ${last}"]` }
    await applied(store, turn, commitOf(owner, at + 2, { events }))
  }
  return { owner, next: ends.length + 2 }
}

export const data: Case[] = [
  [
    'every text comes back as it was',
    async ({ make }) => {
      const [store, other] = [await make(), await make()]
      for (const [what, text] of Object.entries(TEXTS)) {
        const [turn, key] = [newTurn(), newTurn()]
        await begin(store, turn, {
          state: text,
          records: [['name', text]],
          events: { last: 1, text },
          reusable: [[key, text, HOUR]],
        })
        const { kept, events } = await all(other, turn)
        same(kept?.state, text, `state: ${what}`)
        same(kept?.records, [['name', text]], `record: ${what}`)
        same(events, [{ last: 1, text }], `events: ${what}`)
        same((await other.recall(key))?.text, text, `reusable: ${what}`)
        const answer = await other.commit(turn, commitOf('another', 1))
        same(answer.ok ? undefined : answer.state, text, `state of a refusal: ${what}`)
      }
    },
  ],
  [
    'records come back in the order of writing, whatever their names',
    async ({ make }) => {
      const store = await make()
      const turn = newTurn()
      // Neither sorted nor in the order of a hash; names like numbers come first in an object.
      const names = ['z', '10', '9', 'a', '__proto__', '1', ...IDS.filter((id) => id.length > 1)]
      const records = [...new Set(names)].map((name): [string, string] => [name, `text of ${name}`])
      const half = Math.floor(records.length / 2)
      const owner = await begin(store, turn, { records: records.slice(0, half) })
      await applied(store, turn, commitOf(owner, 2, { records: records.slice(half) }))
      same((await store.read(turn))?.records, records, 'all records in order')
    },
  ],
  [
    'many records in one turn',
    async ({ make }) => {
      const store = await make()
      const turn = newTurn()
      const of = (from: number) =>
        Array.from({ length: 300 }, (_, at): [string, string] => [`r${from + at}`, `${from + at}`])
      const owner = await begin(store, turn, { records: of(0) })
      await applied(store, turn, commitOf(owner, 2, { records: of(300) }))
      same((await store.read(turn))?.records, [...of(0), ...of(300)], 'all 600 in order')
    },
  ],
  [
    'texts of 5 MB',
    async ({ make }) => {
      const store = await make()
      const [turn, key] = [newTurn(), newTurn()]
      // Each has surrogate pairs at odd positions, and a visible end.
      const large = (mark: string) => `${mark}${'x😀é\n'.repeat(660_000)}${mark}`
      const owner = await begin(store, turn, { state: large('state') })
      await applied(store, turn, commitOf(owner, 2, { records: [['r', large('record')]] }))
      const events = { last: 9, text: large('events') }
      await applied(store, turn, commitOf(owner, 3, { events }))
      const reusable: [string, string, number][] = [[key, large('reusable'), HOUR]]
      await applied(store, turn, commitOf(owner, 4, { reusable }))
      const stored = await store.read(turn)
      same(stored?.state, large('state'), 'state')
      same(stored?.records, [['r', large('record')]], 'record')
      same(await store.events(turn, 0, 1), [events], 'events')
      same((await store.recall(key))?.text, large('reusable'), 'reusable')
      await applied(store, turn, commitOf(owner, 5, { state: 'short' }))
      same((await store.read(turn))?.state, 'short', 'a short state in place of a long one')
    },
  ],
  [
    'tenants and ids that look alike are kept apart',
    async ({ make }) => {
      const store = await make()
      const run = newTurn()
      const turns = PAIRS.map(([tenant, id]) => nameOf(`${run}${tenant}`, id))
      const distinct = [...new Set(turns)]
      const write = (turn: string, at: number) =>
        begin(store, turn, {
          state: `${at}`,
          records: [['r', `${at}`]],
          events: { last: 1, text: `${at}` },
          reusable: [[turn, `${at}`, HOUR]],
        })
      await Promise.all(distinct.map(write))
      for (const [at, turn] of distinct.entries()) {
        const { kept, events } = await all(store, turn)
        const actual = [kept?.state, kept?.records[0]?.[1], events[0]?.text]
        same(actual, [`${at}`, `${at}`, `${at}`], `what ${turn} keeps`)
        same((await store.recall(turn))?.text, `${at}`, `what ${turn} keeps for reuse`)
      }
    },
  ],
  [
    'a turn’s events are its own, and no part of what it reads as',
    async ({ make }) => {
      const store = await make()
      const [one, other] = [newTurn(), newTurn()]
      await eventful(store, one, [3, 5])
      await eventful(store, other, [4])
      same(lasts(await store.events(one, 0, 10)), [3, 5], 'groups of one turn')
      same(lasts(await store.events(other, 0, 10)), [4], 'groups of the other')
      same((await store.read(one))?.records, [], 'records of a turn with events only')
    },
  ],
  [
    'events come in the order of their numbers, after a number, at most so many',
    async ({ make }) => {
      const store = await make()
      const turn = newTurn()
      const ends = [1, 2, 9, 10, 11, 99, 100, 1000, 2 ** 31, 2 ** 40]
      await eventful(store, turn, ends)
      const groups = ends.map((last) => ({ last, text: `["up to ${last}"]` }))
      same(await store.events(turn, 0, 100), groups, 'all, by number and not by text')
      for (const after of [0, 1, 5, 9, 10, 50, 999, 1000, 2 ** 31, 2 ** 40, 2 ** 41]) {
        const rest = ends.filter((last) => last > after)
        same(lasts(await store.events(turn, after, 100)), rest, `after ${after}`)
        same(lasts(await store.events(turn, after, 2)), rest.slice(0, 2), `two after ${after}`)
      }
      const walked: number[] = []
      for (let after = 0; ; after = walked.at(-1)!) {
        const page = lasts(await store.events(turn, after, 3))
        if (page.length === 0) break
        walked.push(...page)
      }
      same(walked, ends, 'page by page')
    },
  ],
  [
    'many long groups come one by one, and those that are forgotten do not',
    async ({ make }) => {
      const store = await make()
      const turn = newTurn()
      const owner = await begin(store, turn)
      const sizes = [9_000, 1, 70_000, 30_000, 30_000, 30_000, 150_000, 60_000, 60_000, 2]
      const groups = sizes.map((size, at) => ({ last: at + 1, text: `["${'x'.repeat(size)}"]` }))
      for (const events of groups) {
        await applied(store, turn, commitOf(owner, events.last + 1, { events }))
        same(await store.events(turn, 0, 100), groups.slice(0, events.last), `${events.last}`)
      }
      for (let after = 0; after < sizes.length; after++) {
        same(await store.events(turn, after, 2), groups.slice(after, after + 2), `after ${after}`)
      }
      for (let forget = 1; forget < sizes.length; forget++) {
        await applied(store, turn, commitOf(owner, sizes.length + 1 + forget, { forget }))
        same(await store.events(turn, 0, 100), groups.slice(forget), `behind ${forget}`)
      }
    },
  ],
  [
    'forget drops groups up to a number, and only those',
    async ({ make }) => {
      const store = await make()
      const [turn, other] = [newTurn(), newTurn()]
      const { owner, next } = await eventful(store, turn, [3, 9, 10, 20])
      await eventful(store, other, [3, 9])
      const groups = async () => lasts(await store.events(turn, 0, 10))
      await applied(store, turn, commitOf(owner, next, { forget: 2 }))
      same(await groups(), [3, 9, 10, 20], 'forget within a group keeps the group')
      const events = { last: 30, text: '[]' }
      await applied(store, turn, commitOf(owner, next + 1, { forget: 9, events }))
      same(await groups(), [10, 20, 30], 'up to 9, with a new group in the same commit')
      await applied(store, turn, commitOf(owner, next + 2, { forget: 0 }))
      same(await groups(), [10, 20, 30], 'forget 0 drops none')
      same(lasts(await store.events(other, 0, 10)), [3, 9], 'another turn')
    },
  ],
  [
    'a reusable outcome is found by its key, and replaced freely',
    async ({ make }) => {
      const [store, other] = [await make(), await make()]
      const [turn, key, second] = [newTurn(), newTurn(), newTurn()]
      same(await store.recall(key), undefined, 'an unknown key')
      const owner = await begin(store, turn, {
        reusable: [
          [key, 'one', HOUR],
          [second, 'two', HOUR],
        ],
      })
      const recalled = await other.recall(key)
      same(recalled?.text, 'one', 'text')
      const age = recalled?.ageMs ?? NaN
      same(age >= 0 && age < HOUR, true, `ageMs ${age} is milliseconds since it was written`)
      const commit = commitOf(owner, 2, { reusable: [[key, 'new', HOUR]], open: false })
      await applied(store, turn, commit)
      same((await other.recall(key))?.text, 'new', 'replaced by another commit')
      same((await other.recall(second))?.text, 'two', 'the other key')
      same(await store.recall(turn), undefined, 'a turn is no key')
      same(await store.read(key), undefined, 'a key is no turn')
    },
  ],
  [
    'what was read is a copy',
    async ({ make }) => {
      const store = await make()
      const turn = newTurn()
      const records: [string, string][] = [['r', 'text']]
      const events = { last: 1, text: '[]' }
      await begin(store, turn, { records, events })
      const before = structuredClone(await all(store, turn))
      records[0]![1] = 'changed'
      records.push(['more', 'x'])
      events.text = 'changed'
      same(await all(store, turn), before, 'changing what was given changes nothing')
      const read = await all(store, turn)
      read.kept!.records[0]![1] = 'changed'
      read.kept!.records.push(['more', 'x'])
      read.events[0]!.text = 'changed'
      same(await all(store, turn), before, 'changing what was read changes nothing')
    },
  ],
]
