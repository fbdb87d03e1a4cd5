// Unmodified clients through the proxy in `bound`, in each situation, beside the same client without it.
import { createServer } from 'node:http'
import { memoryStore } from 'turnlock'
import { createProxy, toNodeListener } from 'turnlock/proxy'
import { LOOPS } from '../provider/loops.mjs'
import { WIRES } from './wires.mjs'

const call = (n, path) => ({ id: `call_${n}`, name: 'list_files', args: { path, recursive: true } })
const hasResults = (text) => /"tool_call_id"|"tool_use_id"|function_call_output/.test(text)

/** What the provider answers in each situation: calls, a text, or something that is no answer. */
export const SITUATIONS = {
  plain: () => ({ text: 'Fine.' }),
  loop: (n) => ({ calls: [call(n, '.')] }),
  parallel: (n, text) =>
    hasResults(text) ? { text: 'Two.' } : { calls: [call(1, '.'), call(2, '/other')] },
  error: () => ({ status: 400 }),
  'cut connection': () => ({ text: 'Fine.', isCut: true }),
  abort: () => ({ isSilent: true }),
}

async function listen(server) {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${server.address().port}`
}

/** A provider of each API, on its path. `onSilence` is called when it has a request that it leaves open. */
async function createUpstream() {
  const state = { situation: 'plain', requests: 0, onSilence: () => {}, left: undefined }
  const server = createServer(async (request, response) => {
    const pieces = []
    for await (const piece of request) pieces.push(piece)
    const text = Buffer.concat(pieces).toString()
    const body = JSON.parse(text)
    const [, wire] = Object.entries(WIRES).find(([, { path }]) => request.url.startsWith(path))
    state.requests += 1
    const n = state.requests
    const given = wire.none(body) ? { text: 'Fine.' } : SITUATIONS[state.situation](n, text)
    if (given.isSilent) {
      state.left = new Promise((resolve) => response.on('close', resolve))
      return state.onSilence()
    }
    const json = (value) => [JSON.stringify(value), 'application/json']
    const { calls = [] } = given
    const entry = calls.length ? { calls } : { text: [given.text] }
    const [answer, type] = given.status
      ? json({
          type: 'error',
          error: { type: 'invalid_request_error', message: 'No.', code: null, param: null },
        })
      : body.stream
        ? [wire.stream(entry, { n, body }).join(''), 'text/event-stream']
        : json({ ...wire.whole(given), id: `response_${n}` })
    response.writeHead(given.status ?? 200, { 'content-type': type })
    if (!given.isCut) return response.end(answer)
    response.write(answer.slice(0, answer.indexOf('Fine.')))
    // What was written arrives first.
    setTimeout(() => response.destroy(), 50)
  })
  return { url: await listen(server), server, state }
}

/** Plays a client in a situation: how it ended, how often its tool ran, and what the provider got. */
async function play(state, { loop }, situation, base) {
  const controller = new AbortController()
  Object.assign(state, { situation, requests: 0, left: undefined })
  state.onSilence = () => controller.abort()
  let runs = 0
  const ended = await loop({
    base,
    fetch: (input, init) => fetch(input, { ...init, signal: controller.signal }),
    wrap: (tools) => tools,
    execute: async () => {
      runs += 1
      return ['notes.txt']
    },
  }).then(
    () => 'resolved',
    (error) => `rejected: ${error?.constructor?.name}`,
  )
  await state.left
  return { ended, runs, requests: state.requests }
}

/**
 * Every client in every situation, through the proxy and without it. A situation passes if the client
 * ends as it does without the proxy; a loop, if its tool runs twice and an answer follows.
 */
export async function measureMatrix() {
  const upstream = await createUpstream()
  const proxy = createServer(
    toNodeListener(
      createProxy({
        upstream: upstream.url,
        mode: 'bound',
        store: memoryStore(),
        authorize: () => ({ tenant: 'me' }),
      }),
      { onError() {} },
    ),
  )
  const base = await listen(proxy)
  try {
    const rows = []
    for (const client of LOOPS) {
      const cells = {}
      for (const situation of Object.keys(SITUATIONS)) {
        const through = await play(upstream.state, client, situation, base)
        const isLoop = situation === 'loop'
        const without = isLoop
          ? { ended: 'resolved', runs: 2, requests: 4 }
          : await play(upstream.state, client, situation, upstream.url)
        cells[situation] = { through, without }
      }
      rows.push({ client, cells })
    }
    return rows
  } finally {
    for (const { server } of [upstream, { server: proxy }]) {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

/** Whether a client ended as it was to. */
export const passes = ({ through, without }) => JSON.stringify(through) === JSON.stringify(without)

/** The table of the guide. */
export function matrixTable(rows) {
  const names = Object.keys(SITUATIONS)
  const lines = rows.map(({ client, cells }) => {
    const marks = names.map((name) => (passes(cells[name]) ? 'yes' : 'no'))
    return `| ${[client.name, `\`${client.package}\` ${client.version}`, ...marks].join(' | ')} |`
  })
  const head = `| client | package | ${names.join(' | ')} |\n|---|---|${'---|'.repeat(names.length)}`
  return `${head}\n${lines.join('\n')}\n`
}
