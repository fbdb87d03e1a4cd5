// The proxy's bound over streams that are spoiled: whatever a provider sends, the cap holds.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createProxy } from 'turnlock/proxy'
import { CLIENTS, piecesOf } from '../proxy/readers.mjs'
import { WIRES } from '../proxy/wires.mjs'
import { cutAt, cuts, holds } from './hold.mjs'

const streamOf = (pieces) =>
  new ReadableStream({
    start(controller) {
      for (const piece of pieces) if (piece.length) controller.enqueue(new Uint8Array(piece))
      controller.close()
    },
  })

/** Members whose values decide what a call is, and where it stands. */
const PLACES = ['index', 'id', 'output_index', 'call_id', 'item_id', 'finish_reason', 'stop_reason']
const place = fc.tuple(fc.constantFrom(...PLACES), fc.constantFrom(0, 1, null, 'x', undefined))

/** What may happen to a frame. */
const faults = fc.oneof(
  fc.constant((frame) => [frame]),
  fc.constant((frame) => [frame]),
  fc.constant(() => []),
  fc.constant((frame) => [frame, frame]),
  fc.constant((frame) => [frame.replaceAll('\n', '\r')]),
  fc.constant((frame) => [frame.replaceAll('\n', '\r\n')]),
  fc.constant((frame) => [frame.replaceAll(/_(?=calls|call|use)/g, '\\u005f')]),
  fc.constant((frame) => [frame.replace(/^(data: \{)/m, '$1"x":NaN,')]),
  fc.constant((frame) => [frame.replace(/^data: (\{.*\})$/m, 'data: [$1]')]),
  fc.constant((frame) => [frame.replace('"delta":{', '"message":{')]),
  fc.constant((frame) => ['x: y\n', frame]),
  place.map(([name, value]) => (frame) => [
    frame.replace(/^data: (\{.*\})$/m, (_, json) => {
      const set = (key, own) => (key === name ? value : own)
      return `data: ${JSON.stringify(JSON.parse(json, set))}`
    }),
  ]),
)

test('however a stream is spoiled, no more calls pass than may run', async () => {
  const property = fc.asyncProperty(
    fc.constantFrom(...Object.keys(WIRES)),
    fc.array(faults, { minLength: 1, maxLength: 30 }),
    fc.nat(1),
    fc.option(fc.infiniteStream(fc.nat(40)), { nil: undefined }),
    cuts,
    async (wire, all, maxTools, order, where) => {
      // No client runs a call without its name.
      const calls = [1, 2, 3].map((n) => ({ id: `c${n}`, name: `pay-${n}`, args: { n } }))
      const made = WIRES[wire].stream({ text: ['Well.'], calls }, { n: 1, body: {} })
      const frames = made.flatMap((frame, at) => all[at % all.length](frame))
      // Some frames come later than they should.
      const late = order && frames.map((frame) => [order.next().value, frame])
      const sent = late ? late.sort(([a], [b]) => a - b).map(([, frame]) => frame) : frames
      let asked = 0
      const proxy = createProxy({
        upstream: 'https://provider.example',
        authorize: () => ({ tenant: 'me' }),
        mode: 'bound',
        policy: { maxTools },
        onError: (error) => assert.fail(error),
        fetch: async () =>
          new Response(streamOf(asked++ ? [] : cutAt(Buffer.from(sent.join('')), where))),
      })
      const body = JSON.stringify(WIRES[wire].body([]))
      const url = `https://edge.example${WIRES[wire].path}`
      const text = await (await proxy(new Request(url, { method: 'POST', body }))).text()
      // The notice for the user names the calls that did not run.
      const sentCalls = text.replaceAll(/[^"]* did not run: [^"]*/g, '')
      assert.ok(new Set(sentCalls.match(/pay-\d/g)).size <= maxTools, text)
    },
  )
  await holds('spoiled streams', property, 300)
})

/** A piece of a call, as servers write them and as none does. */
const piece = fc.record({
  index: fc.constantFrom(0, 0, 1, 1, 2, undefined),
  id: fc.constantFrom(undefined, undefined, undefined, 'a', 'b'),
  name: fc.constantFrom(undefined, undefined, undefined, 'ls', 'pay'),
  args: fc.constantFrom('', '{}', '{"n":1}', '{"n":', '1}', '{"n":2}'),
})
const pieces = fc.oneof(
  { weight: 6, arbitrary: fc.array(piece, { minLength: 1, maxLength: 2 }) },
  { weight: 1, arbitrary: fc.constant('end') },
)

test('however clients put the pieces of calls together, none reads a call that may not run', async () => {
  const chunk = (delta, finish_reason = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  const written = ({ name, args, ...more }) => ({ ...more, function: { name, arguments: args } })
  const property = fc.asyncProperty(
    fc.array(pieces, { minLength: 1, maxLength: 6 }),
    async (all) => {
      const frames = all.map((own) =>
        own === 'end' ? chunk({}, 'tool_calls') : chunk({ tool_calls: own.map(written) }),
      )
      const sent = [...frames, chunk({}, 'tool_calls'), 'data: [DONE]\n\n'].join('')
      let requests = 0
      const proxy = createProxy({
        upstream: 'https://provider.example',
        authorize: () => ({ tenant: 'me' }),
        mode: 'bound',
        onError: (error) => assert.fail(error),
        fetch: async () => new Response(requests++ ? '' : sent),
      })
      const history = [1, 2].map(() => ['ls', { n: 1 }, 'same'])
      const body = JSON.stringify(WIRES.chat.body(history))
      const url = `https://edge.example${WIRES.chat.path}`
      const text = await (await proxy(new Request(url, { method: 'POST', body }))).text()
      for (const [client, read] of Object.entries(CLIENTS)) {
        for (const { name, args } of read(piecesOf(text))) {
          const isRepeat = name === 'ls' && args.replace(/\s/g, '') === '{"n":1}'
          assert.ok(!isRepeat, `${client}\n${text}`)
        }
      }
    },
  )
  await holds('pieces of calls', property, 1000)
})
