// The recorded bodies of the wires through the proxy, cut at random places.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createProxy } from 'turnlock/proxy'
import { data } from '../data.mjs'
import { loadTape } from '../provider/tapes.mjs'
import { looped, WIRES } from './wires.mjs'

const SPACE = 32
const TAPES = { chat: 'openai-chat', messages: 'anthropic', responses: 'openai-responses' }

/** The recorded bodies of a wire; whole responses too. */
function recordings(wire) {
  const listed = JSON.parse(readFileSync(new URL(`../wires/${TAPES[wire]}.json`, import.meta.url)))
  return listed.map(([path]) => {
    const events = loadTape(path, wire === 'messages')
    const bytes = events ? Buffer.from(events.join('')) : readFileSync(data(path))
    return { path, bytes }
  })
}

/** Small numbers, the same in every run. */
function random(seed) {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const cut = (bytes, next, most) => {
  const pieces = []
  for (let at = 0; at < bytes.length;) {
    const end = at + 1 + next(most)
    pieces.push(bytes.subarray(at, end))
    at = end
  }
  return pieces
}

/** Each when it is asked for: thousands in a queue take Node longer than the proxy. */
const streamOf = (pieces) => {
  const left = pieces.values()
  return new ReadableStream({
    pull(controller) {
      const { value, done } = left.next()
      if (done) controller.close()
      else controller.enqueue(new Uint8Array(value))
    },
  })
}

/** A proxy whose provider answers with these pieces, whatever it says of their type. */
export function proxyOf(options, pieces, type = 'text/event-stream') {
  const seen = []
  const proxy = createProxy({
    upstream: 'https://provider.example',
    authorize: () => ({ tenant: 'me' }),
    onReport: (report) => seen.push(report),
    fetch: async (url, init) => {
      seen.push({ url, body: new Uint8Array(init.body) })
      return new Response(streamOf(pieces), { headers: { 'content-type': type } })
    },
    ...options,
  })
  return { proxy, seen }
}

export const ask = (proxy, wire, body) =>
  proxy(new Request(`https://edge.example${WIRES[wire].path}`, { method: 'POST', body }))

export const MODES = ['observe', 'repair', 'bound']

/** Every recording of a wire, in every mode: what a client gets are the provider's bytes. */
export async function pass(wire) {
  const all = recordings(wire)
  const body = JSON.stringify(WIRES[wire].body(looped(1)))
  let calls = 0
  let usage = 0
  for (const [at, { path, bytes }] of all.entries()) {
    const next = random(at + 1)
    for (const mode of MODES) {
      for (const most of [7, 300, bytes.length]) {
        const { proxy, seen } = proxyOf({ mode, policy: { maxTools: 999 } }, cut(bytes, next, most))
        const response = await ask(proxy, wire, body)
        const came = Buffer.from(await response.arrayBuffer())
        const report = seen.at(-1)
        if (mode === 'bound' && bytes[0] === SPACE) {
          // The recorder indented the first line; no client reads it alike.
          assert.deepEqual(
            [report.outcome, report.error],
            ['failed', 'proxy.response_format'],
            path,
          )
          continue
        }
        assert.ok(came.equals(bytes), `${path}, ${mode}, pieces of ${most}`)
        assert.deepEqual([report.outcome, report.error], ['complete', undefined], path)
        usage += report.usage.length
        calls += report.blocked.length
      }
    }
  }
  return { recordings: all.length, usage, calls }
}

/**
 * Every recording of a wire, cut in two ways: the proxy blocks the same, and without a bound names the
 * same calls. Returns how many.
 */
export async function judge(wire) {
  const body = JSON.stringify(WIRES[wire].body(looped(1)))
  let judged = 0
  for (const [at, { path, bytes }] of recordings(wire).entries()) {
    const next = random(at + 7)
    const told = []
    for (const most of [[5, 40, 211][next(3)], bytes.length]) {
      const { proxy, seen } = proxyOf({ policy: { maxTools: 1 } }, cut(bytes, next, most))
      await (await ask(proxy, wire, body)).arrayBuffer()
      const { blocked, calls } = seen.at(-1)
      assert.deepEqual(calls, [], path)
      told.push(blocked)
      const free = proxyOf({}, cut(bytes, next, most))
      await (await ask(free.proxy, wire, body)).arrayBuffer()
      const { calls: passed, blocked: none } = free.seen.at(-1)
      assert.deepEqual([passed, none], [blocked.map(({ name }) => name), []], path)
    }
    for (const blocked of told) assert.deepEqual(blocked, told[0], path)
    judged += told[0].length
  }
  return judged
}
