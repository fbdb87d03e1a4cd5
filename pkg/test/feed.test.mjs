// Readers of a feed answer as an async generator does.
import assert from 'node:assert/strict'
import { setImmediate as settled } from 'node:timers/promises'
import { test } from 'node:test'
import { Feed } from '../dist/driver/feed.js'
import { Packed } from '../dist/driver/packed.js'
import { collectGarbage } from '../../tests/garbage.mjs'

const done = { done: true, value: undefined }
const item = (value) => ({ done: false, value })

/** What a reader left, and its iterator. */
function reading(feed, stream) {
  const left = { times: 0 }
  return [feed.read(() => left.times++, stream), left]
}

test('every reader gets every item, before and behind the push', async () => {
  const feed = new Feed()
  feed.push(1)
  const [early, left] = reading(feed)
  assert.deepEqual(await early.next(), item(1))
  const [second, third] = [early.next(), early.next()]
  feed.push(2)
  feed.push(3)
  assert.deepEqual(await Promise.all([second, third]), [item(2), item(3)])
  const last = early.next()
  feed.end()
  assert.deepEqual(await last, done)
  assert.deepEqual(await early.next(), done)
  assert.equal(left.times, 0)
  const late = []
  for await (const one of reading(feed)[0]) late.push(one)
  assert.deepEqual(late, [1, 2, 3])
})

test('an error comes behind the last item, once', async () => {
  const feed = new Feed()
  feed.push(1)
  const [reader, left] = reading(feed)
  const calls = [reader.next(), reader.next(), reader.next()]
  feed.end(new Error('x'))
  assert.deepEqual(await calls[0], item(1))
  await assert.rejects(calls[1], /x/)
  assert.deepEqual(await calls[2], done)
  assert.deepEqual(await reader.return(), done)
  assert.equal(left.times, 0)
})

test('who leaves is told once, behind the calls before', async () => {
  const feed = new Feed()
  const [reader, left] = reading(feed)
  const next = reader.next()
  const leaving = reader.return()
  await settled()
  assert.equal(left.times, 0)
  feed.push(1)
  assert.deepEqual(await next, item(1))
  assert.deepEqual(await leaving, done)
  assert.equal(left.times, 1)
  assert.deepEqual(await reader.next(), done)
  assert.deepEqual(await reader.return(), done)
  assert.equal(left.times, 1)

  const [thrower, thrown] = reading(feed)
  await thrower.next()
  await assert.rejects(thrower.throw(new Error('mine')), /mine/)
  assert.equal(thrown.times, 1)

  // A generator that has not begun is over without its `finally`.
  const [unused, never] = reading(feed)
  await unused.return()
  assert.deepEqual(await unused.next(), done)
  assert.equal(never.times, 0)
})

test('a stream that is 256 items behind holds the producer back, until it reads or leaves', async () => {
  const feed = new Feed()
  const [slow] = reading(feed, true)
  for (let at = 0; at < 300; at++) feed.push(at)
  assert.equal(feed.room(), undefined, 'nobody has begun')
  await slow.next()
  const full = feed.room()
  assert.ok(full)
  for (let at = 0; at < 44; at++) await slow.next()
  assert.equal(feed.room(), undefined, 'the item in hand is not taken')
  await full
  feed.push(300)
  const again = feed.room()
  assert.ok(again)
  await slow.return()
  await again
  assert.equal(feed.room(), undefined)
  const [iterator] = reading(feed)
  await iterator.next()
  assert.equal(feed.room(), undefined, 'an iterator holds nobody back')
})

/** Events of a turn in which pieces of text and other events alternate at random. */
function events(random, count) {
  return Array.from({ length: count }, (_, at) => {
    const kind = random(12)
    const event = {
      type: 'text',
      phase: 'tool_phase',
      requestId: 'r',
      seq: at + 1,
      chunk: 'é😀ab'.slice(0, random(5)),
    }
    if (kind === 0) return { ...event, seq: at + 7 }
    if (kind === 1) return { ...event, phase: 'action_phase', of: { at } }
    if (kind === 2) return { type: 'tool_calls', seq: at + 1, toolCalls: [at] }
    if (kind === 3) return at
    if (kind === 4) return { ...event, chunk: at }
    return event
  })
}

/** A feed as turns, passes and chains keep it. */
const packed = () => new Feed((items) => new Packed(items))

test('whenever they read, readers get all events as they were', async () => {
  let seed = 7
  const random = (below) => (seed = (seed * 48_271) % 2_147_483_647) % below
  for (let round = 0; round < 40; round++) {
    const all = events(random, random(1500))
    const feed = packed()
    const readers = []
    for (const [at, event] of all.entries()) {
      feed.push(event)
      if (random(300) === 0) readers.push({ read: feed.read(() => {}), got: [] })
      for (const reader of readers) {
        if (reader.got.length <= at && random(3)) reader.got.push((await reader.read.next()).value)
      }
    }
    feed.end()
    assert.deepEqual([feed.length, feed.last], [all.length, all.at(-1)])
    assert.deepEqual(feed.all(), all)
    readers.push({ read: feed.read(() => {}), got: [] })
    for (const { read, got } of readers) {
      for await (const event of read) got.push(event)
      assert.deepEqual(got, all)
    }
  }
})

test('text that was told takes some bytes an event, and is there for the next reader', async () => {
  const COUNT = 200_000
  const held = () => {
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  await collectGarbage()
  const before = held()
  const feed = packed()
  const reader = feed.read(() => {})
  for (let seq = 1; seq <= COUNT; seq++) {
    const event = { type: 'text', phase: 'action_phase', requestId: 'r', projectId: null }
    feed.push({ ...event, toolBatchId: 1, seq, chunk: String.fromCharCode(97 + (seq % 26)) })
    await reader.next()
  }
  await collectGarbage()
  const each = (held() - before) / COUNT
  assert.ok(each < 16, `${each} bytes an event`)
  let [seq, wrong] = [0, 0]
  feed.end()
  for await (const event of feed.read(() => {})) {
    seq++
    if (event.seq !== seq || event.chunk !== String.fromCharCode(97 + (seq % 26))) wrong++
  }
  assert.deepEqual([seq, wrong], [COUNT, 0])
})
