// A test of the tester: stores with one planted fault each, every one of which the suite catches.
import assert from 'node:assert/strict'
import test, { describe } from 'node:test'
import { storeConformance } from 'turnlock/testing'

const TurnlockError = class extends Error {
  name = 'TurnlockError'
  code = 'store.record_exists'
}
const later = () => new Promise((resolve) => setImmediate(resolve))

/**
 * The plainest store that is right. `fault` names the one thing that it does wrong; `data` is what
 * all stores over the same data share.
 */
function plainStore(fault, data) {
  const is = (name) => fault === name
  const nameOf = (turn) => {
    if (is('tenants share turns')) return JSON.parse(turn)[1]
    if (is('names are joined')) return JSON.parse(turn).join(':')
    if (is('names are cut')) return turn.slice(0, 300)
    if (is('names ignore case')) return turn.toLowerCase()
    if (is('names lose accents')) return turn.normalize('NFC')
    return turn
  }
  const text = (text) => {
    if (is('texts through UTF-8')) return new TextDecoder().decode(new TextEncoder().encode(text))
    if (is('texts end at NUL')) return text.split('\0')[0]
    if (is('texts are trimmed')) return text.trim()
    if (is('texts are cut')) return text.slice(0, 1 << 20)
    return text
  }
  const expired = ({ expires }) => expires <= Date.now() && !is('turns never expire')
  const current = (turn) => {
    const kept = data.turns.get(nameOf(turn))
    if (!kept || expired(kept)) return undefined
    return kept
  }
  const judge = (kept, { owner, revision, takeOver, replaces = null }) => {
    if (!kept) return revision === 1 || is('a turn may begin anywhere') ? 'apply' : 'refuse'
    const mine = kept.owner === owner
    if (mine && kept.revision === revision && !is('repeats are refused')) {
      return is('repeats are applied') ? 'apply' : 'repeated'
    }
    if (kept.revision === revision && is('repeats of anybody')) return 'repeated'
    if (!kept.open && !is('closed turns go on')) return 'refuse'
    const next = is('revisions may be skipped')
      ? revision > kept.revision
      : kept.revision === revision - 1 || is('revisions are not looked at')
    const named = replaces === null || replaces === kept.owner || is('a take-over replaces anybody')
    const over =
      takeOver && named && !(is('a take-over that names is refused') && replaces !== null)
    const may = mine || over || is('no fence') || (is('stale owners') && kept.had.has(owner))
    return next && (may || (is('take-over by anyone') && revision > 1)) ? 'apply' : 'refuse'
  }

  return {
    async read(turn) {
      const kept = current(turn)
      if (!kept) return undefined
      const { owner, revision, open, at, state } = kept
      if (is('torn reads')) await later()
      const { records: own } = current(turn)
      const records = is('records are not copied') ? own : own.map(([name, text]) => [name, text])
      if (is('records out of order')) records.sort(([a], [b]) => (a < b ? -1 : 1))
      let idleMs = Date.now() - (is('idle since the beginning') ? kept.began : at)
      if (is('idle is 0')) idleMs = 0
      if (is('idle in seconds since 1970')) idleMs = Date.now()
      if (is('every owner is gone')) idleMs = Infinity
      return { owner, revision, open, idleMs, state, records }
    },

    async commit(turn, commit) {
      const kept = current(turn)
      const verdict = judge(kept, commit)
      if (is('check, then write')) await later()
      if (verdict === 'repeated') return { ok: true }
      const has = new Set(kept?.records.map(([name]) => name))
      const reuse = () => {
        for (const [key, value, ttlMs] of commit.reusable) {
          if (is('reusable is never replaced') && data.reusable.has(key)) continue
          const ms = is('reusable never expires') ? 1e12 : ttlMs
          data.reusable.set(key, { text: text(value), at: Date.now(), expires: Date.now() + ms })
        }
      }
      if (verdict === 'refuse') {
        if (is('refused but reusable')) reuse()
        if (is('refused but alive')) kept && (kept.state = commit.state ?? kept.state)
        if (!kept || is('refused without a word')) return { ok: false }
        const { owner, revision, open, state } = kept
        return { ok: false, owner, revision, open, state }
      }
      const old = !kept && is('old records stay') ? data.turns.get(nameOf(turn)) : kept
      const next = {
        owner: commit.owner,
        revision: commit.revision,
        open: commit.open,
        state: commit.state === null && !is('state null') ? kept?.state : text(commit.state ?? ''),
        began: kept?.began ?? Date.now(),
        at: Date.now(),
        expires: is('ttl of the first commit') && kept ? kept.expires : Date.now() + commit.ttlMs,
        had: (kept?.had ?? new Set()).add(commit.owner),
        records: is('torn commits') ? (old?.records ?? []) : [...(old?.records ?? [])],
        groups: [...(old?.groups ?? [])],
      }
      for (const [name, value] of commit.records) {
        if (has.has(name) && !is('records are overwritten') && !is('records twice')) {
          throw new TurnlockError(`${name} is there`)
        }
        if (!is('a name twice in one commit')) has.add(name)
        const at = next.records.findIndex(([each]) => each === name)
        if (at >= 0 && is('records are overwritten')) next.records[at][1] = text(value)
        else next.records.push([name, text(value)])
      }
      if (commit.events) {
        next.groups.push(is('what was given is kept') ? commit.events : { ...commit.events })
        next.groups.at(-1).text = text(next.groups.at(-1).text)
      }
      if (commit.forget > 0 && !is('nothing is forgotten')) {
        const { forget } = commit
        next.groups = next.groups.filter(({ last }) =>
          is('forget too little') ? last >= forget : last > forget,
        )
        if (is('forget everything')) next.groups = []
      }
      data.turns.set(nameOf(turn), next)
      reuse()
      if (!is('nobody is told')) {
        for (const changed of data.watchers.get(nameOf(turn)) ?? []) queueMicrotask(changed)
      }
      return { ok: true }
    },

    async events(turn, after, most) {
      const groups = current(turn)?.groups ?? []
      const sorted = is('events in the order of texts')
        ? [...groups].sort((a, b) => (String(a.last) < String(b.last) ? -1 : 1))
        : groups
      const from = sorted.filter(({ last }) =>
        is('events from, not after') ? last >= after : last > after,
      )
      if (is('events from the end')) return from.slice(-most)
      return (is('all events at once') ? from : from.slice(0, most)).map((group) => ({ ...group }))
    },

    async recall(key) {
      const kept = data.reusable.get(key)
      if (!kept || kept.expires <= Date.now()) return undefined
      return { text: kept.text, ageMs: is('age is a date') ? Date.now() : Date.now() - kept.at }
    },

    watch(turn, changed) {
      const call = () => changed()
      const all = data.watchers.get(nameOf(turn)) ?? new Set()
      data.watchers.set(nameOf(turn), all.add(call))
      return () => !is('no stopping') && all.delete(call)
    },
  }
}

const fresh = () => ({ turns: new Map(), reusable: new Map(), watchers: new Map() })

/** The names of the cases that fail. */
async function caught(fault) {
  const data = fresh()
  const make = () => plainStore(fault, fault === 'data of its own' ? fresh() : data)
  const failed = []
  const cases = storeConformance(make, { patienceMs: 400 })
  await Promise.all(
    cases.map(({ name, run }) => run().catch((error) => failed.push([name, error.message]))),
  )
  return failed
}

/** Fault → the case that is there for it. */
const FAULTS = {
  'data of its own': 'every store of make',
  'no fence': 'another owner writes only by taking over',
  'a take-over replaces anybody': 'a take-over replaces the owner that it names',
  'a take-over that names is refused': 'a take-over replaces the owner that it names',
  'stale owners': 'an owner that was replaced',
  'take-over by anyone': 'another owner writes only by taking over',
  'closed turns go on': 'a turn that is over',
  'a turn may begin anywhere': 'an unknown turn',
  'revisions may be skipped': 'a revision may be neither skipped',
  'revisions are not looked at': 'a revision may be neither skipped',
  'repeats are refused': 'a repeated commit',
  'repeats are applied': 'a repeated commit',
  'repeats of anybody': 'of many owners that begin',
  'check, then write': 'of many owners that begin',
  'refused without a word': 'another owner writes only by taking over',
  'refused but alive': 'another owner writes only by taking over',
  'refused but reusable': 'another owner writes only by taking over',
  'state null': 'a turn reads back',
  'torn commits': 'a record is written once',
  'torn reads': 'a reader sees whole commits only',
  'records are overwritten': 'a record is written once',
  'records twice': 'a record is written once',
  'a name twice in one commit': 'a record is written once',
  'records out of order': 'records come back in the order',
  'records are not copied': 'what was read is a copy',
  'what was given is kept': 'what was read is a copy',
  'texts through UTF-8': 'every text comes back',
  'texts end at NUL': 'every text comes back',
  'texts are trimmed': 'every text comes back',
  'texts are cut': 'texts of 5 MB',
  'tenants share turns': 'tenants and ids',
  'names are joined': 'tenants and ids',
  'names are cut': 'tenants and ids',
  'names ignore case': 'tenants and ids',
  'names lose accents': 'tenants and ids',
  'events in the order of texts': 'events come in the order',
  'events from, not after': 'events come in the order',
  'events from the end': 'events come in the order',
  'all events at once': 'events come in the order',
  'nothing is forgotten': 'forget drops groups',
  'forget too little': 'forget drops groups',
  'forget everything': 'forget drops groups',
  'turns never expire': 'a turn expires with everything',
  'old records stay': 'a turn expires with everything',
  'ttl of the first commit': 'a turn lives for the ttlMs',
  'reusable is never replaced': 'a reusable outcome is found',
  'reusable never expires': 'a reusable outcome expires',
  'age is a date': 'a reusable outcome is found',
  'idle is 0': 'idleMs counts',
  'idle since the beginning': 'idleMs counts',
  'idle in seconds since 1970': 'idleMs counts',
  'every owner is gone': 'idleMs counts',
  'nobody is told': 'watch',
  'no stopping': 'watch',
}

test('the plain store without a fault passes', async () => {
  assert.deepEqual(await caught(undefined), [])
})

describe('caught', { concurrency: 4 }, () => {
  for (const [fault, wanted] of Object.entries(FAULTS)) {
    test(fault, async () => {
      const failed = await caught(fault)
      const found = failed.find(([name]) => name.startsWith(wanted))
      assert.ok(found, `not by “${wanted} …”, but by: ${JSON.stringify(failed, null, 1)}`)
    })
  }
})

test('a fault’s message says what was expected and what came', async () => {
  const [, message] = (await caught('no fence')).find(([name]) => name.startsWith('another owner'))
  assert.match(message, /revision 2 of another owner must be refused\n {2}expected .*\n {2}got .*/)
})
