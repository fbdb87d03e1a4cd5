// What leaves the dock: JSON, a command of a shell, a test. Knows no page.
import { PROVIDERS } from 'turnlock'

/** All of it, one line each. */
export const asLines = ({ entries }) =>
  entries.map(({ type, value }) => JSON.stringify(value ?? { type })).join('\n')

/** In single quotes, as a shell reads them. */
const quoted = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** The headers of the provider at a path, as lines. The key is a variable of the shell. */
function headersOf(pathname) {
  const isOf = ({ pathEnds }) => pathEnds.some((end) => pathname.endsWith(end))
  const { keyHeader = 'authorization', headers = {} } = PROVIDERS.find(isOf) ?? {}
  const prefix = keyHeader === 'authorization' ? 'Bearer ' : ''
  const others = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return [`${keyHeader}: ${prefix}$API_KEY`, ...others]
}

/**
 * A request as a `curl` command. The model that is played in the page has no address: it is the
 * `BASE_URL` of the shell there.
 */
export function asCurl({ url, body }) {
  const { origin, pathname, search } = new URL(url)
  const scripted = /\/s\/[^/]+\/[^/]+\/v1(?=\/|$)/.exec(pathname)
  const rest = scripted ? pathname.slice(scripted.index + scripted[0].length) : ''
  const address = scripted
    ? `"$BASE_URL"${quoted(rest + search)}`
    : quoted(origin + pathname + search)
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return [
    `curl -N ${address}`,
    `-H 'content-type: application/json'`,
    ...headersOf(pathname).map((header) => `-H "${header}"`),
    `--data-raw ${quoted(text)}`,
  ].join(' \\\n  ')
}

/** What is known of the provider of a wire. */
const providerOf = (wire) => PROVIDERS.find(({ dialect }) => dialect === wire) ?? {}

const ENDS = ['complete', 'paused', 'cancelled', 'error']

/** What ran, with its arguments. `undefined` where a result cannot be returned again. */
function resultsOf(entries) {
  const args = new Map()
  const results = []
  for (const { value } of entries) {
    for (const call of value?.toolCalls ?? []) args.set(call.signature, call.args)
    for (const { name, signature, status, result, error, truncated } of value?.toolResults ?? []) {
      if (['blocked', 'skipped'].includes(status)) continue
      if (!['ok', 'error'].includes(status) || truncated) return undefined
      const outcome = status === 'ok' ? { result: result ?? null } : { error: error.message }
      results.push({ tool: name, args: args.get(signature) ?? {}, ...outcome })
    }
  }
  return results
}

const STORE = '\n    store: memoryStore(),'
const json = (value) => JSON.stringify(value, null, 2)

/** The text of what a model answered: as the bytes of responses, or as deltas. */
function tapeOf({ requests }) {
  const bodies = requests.map(({ parts, type }) => {
    const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
    parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0)
    if (/eventstream/.test(type)) {
      const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
      return `{ body: Buffer.from('${base64}', 'base64'), headers: { 'content-type': ${JSON.stringify(type)} } }`
    }
    const text = new TextDecoder().decode(bytes)
    return `{ body: ${JSON.stringify(text)}, headers: { 'content-type': ${JSON.stringify(type)} } }`
  })
  return `[\n${bodies.map((body) => `  ${body},\n`).join('')}]`
}

/** Whether {@link asTest} can tell the whole turn again. */
export function isWhole({ turn, entries, requests }) {
  if (!turn || !ENDS.includes(entries.at(-1)?.type)) return false
  const answered =
    turn.deltas || (providerOf(turn.wire).client && requests.every(({ status }) => status === 200))
  return Boolean(answered && resultsOf(entries))
}

/** A turn as a test of `node:test`: what the model said and the tools returned is in it. */
export function asTest({ turn, entries, requests }) {
  const results = resultsOf(entries)
  const ran = entries.flatMap(({ value }) => value?.toolResults ?? [])
  const text = entries.flatMap(({ type, value }) => (type === 'text' ? [value.chunk] : [])).join('')
  const end = entries.at(-1)
  const { client, pageHeader } = turn.deltas ? {} : providerOf(turn.wire)
  // A turn that may wait is kept.
  const store = turn.policy.pauseAfterTools || turn.tools.some(({ needsApproval }) => needsApproval)
  const make = turn.deltas
    ? 'const model = scriptedModel(RESPONSES)'
    : `const model = ${client}({
    baseURL: 'https://recorded.example/v1',
    model: 'recorded',
    fetch: tapeFetch(RESPONSES),${pageHeader ? '\n    dangerouslyAllowBrowser: true,' : ''}
  })`
  const tools = turn.tools.map(
    ({ name, ...options }) => `  ${JSON.stringify(name)}: defineTool({
    ...${json(options).replaceAll('\n', '\n    ')},
    execute: recorded(${JSON.stringify(name)}),
  }),
`,
  )
  return `import assert from 'node:assert/strict'
import test from 'node:test'
import { ${['defineTool', client, store && 'memoryStore', 'runTurn', 'signature'].filter(Boolean).join(', ')} } from 'turnlock'
import { ${turn.deltas ? 'scriptedModel' : 'tapeFetch'} } from 'turnlock/testing'

/** What the model answered, response by response. */
const RESPONSES = ${turn.deltas ? json(turn.deltas) : tapeOf({ requests })}

/** What the tools returned. */
const RESULTS = ${json(results)}

const recorded = (tool) => (args) => {
  const asked = signature({ tool, args })
  const found = RESULTS.find((one) => one.tool === tool && signature({ tool, args: one.args }) === asked)
  if (!found) throw new Error(\`\${tool} was not called with \${JSON.stringify(args)}\`)
  if (found.error !== undefined) throw new Error(found.error)
  return found.result
}
const tools = {
${tools.join('')}}

test('the turn goes as it was recorded', async () => {
  ${make}
  const turn = runTurn({
    model,
    tools,
    mode: ${JSON.stringify(turn.mode)},${store ? STORE : ''}
    messages: ${json(turn.messages).replaceAll('\n', '\n    ')},
    policy: ${json(turn.policy).replaceAll('\n', '\n    ')},
  })
  const [results, said] = [[], []]
  let last
  for await (const event of turn) {
    for (const { name, status } of event.toolResults ?? []) results.push([name, status])
    if (event.type === 'text') said.push(event.chunk)
    last = event.type
  }
  assert.deepEqual(results, ${JSON.stringify(ran.map(({ name, status }) => [name, status]))})
  assert.equal(said.join(''), ${JSON.stringify(text)})
  assert.equal(last, ${JSON.stringify(end.type)})
})
`
}
