/** The proxy on one's own machine, with a line for each request. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { ProxyReport } from 'turnlock/proxy'
import { HOST } from '../shared/host.js'
import { command, Usage, wholeNumber } from './command.js'
import { listen, portOf } from './listen.js'
import { asJson, line } from './printable.js'
import { complain, dim, green, progress, red } from './terminal.js'

export const proxy = command({
  name: 'proxy',
  about:
    'The proxy on 127.0.0.1, with a line for each request. The line has its repairs, the calls of the response, and what was refused. The client passes its own key on, unless --key-env names a variable with another. Runs until it is interrupted.',
  positionals: [],
  options: {
    upstream: { type: 'string', value: 'URL', about: 'the provider, with /v1', required: true },
    mode: {
      type: 'string',
      value: 'NAME',
      default: 'observe',
      about: 'observe, repair or bound',
    },
    'max-repeats': { type: 'string', value: 'N', about: 'how often a call may come again' },
    'max-tools': { type: 'string', value: 'N', about: 'the budget of a user turn' },
    'max-same-call': {
      type: 'string',
      value: 'N',
      about: 'how often a call may run, whatever its results; a poll repeats too',
    },
    port: { type: 'string', value: 'N', default: '8787', about: '0 is a free one' },
    'allow-host': {
      type: 'string',
      value: 'NAMES',
      about:
        'more names under which it may be called, with commas: host.docker.internal; else it is localhost, 127.0.0.1 and [::1] alone',
    },
    'forward-headers': {
      type: 'string',
      value: 'NAMES',
      about: 'headers that are sent on although they are dropped by default, with commas',
    },
    'key-env': { type: 'string', value: 'NAME', about: 'a variable with the key of the provider' },
  },
  ends: '0',
  async run(values) {
    const { upstream, mode, json } = values
    if (upstream === undefined) throw new Usage('--upstream is missing')
    if (!/^https?:\/\/[^?#]+$/.test(upstream) || !URL.canParse(upstream)) {
      throw new Usage('--upstream: an address such as https://api.openai.com/v1')
    }
    if (!isMode(mode)) throw new Usage(`--mode: ${MODES.join(', ')}`)
    const variable = values['key-env']
    const apiKey = variable === undefined ? undefined : process.env[variable]
    if (variable !== undefined && !apiKey) throw new Usage(`--key-env: ${variable} is not set`)
    const maxRepeats = wholeNumber(values, 'max-repeats', { least: 1 })
    const maxTools = wholeNumber(values, 'max-tools')
    const maxSameCall = wholeNumber(values, 'max-same-call', { least: 1 })
    const forwardHeaders = (values['forward-headers'] ?? '').split(',').filter(Boolean)
    const hosts = [...LOCAL, ...namesOf(values['allow-host'])]
    const [{ createProxy }, { memoryStore }] = await Promise.all([
      import('turnlock/proxy'),
      import('turnlock'),
    ])
    const { repaired, refused } = DOES[mode]
    const total: Record<string, number> = { requests: 0, [repaired]: 0, [refused]: 0, failed: 0 }
    const count = (what: string) => (total[what] = (total[what] ?? 0) + 1)
    /** The request that a report is of. */
    const requests = new AsyncLocalStorage<{ isTold: boolean }>()
    const printReport = (
      report: object,
      text: string,
      status: number,
      isFailed = status >= 400,
    ) => {
      count('requests')
      if (isFailed) count('failed')
      progress()
      console.log(json ? asJson(report) : text)
      progress(summed(total))
    }
    const proxied = createProxy({
      upstream: { url: upstream, ...(apiKey ? { apiKey } : { passAuthorization: true }) },
      mode,
      hosts,
      forwardHeaders,
      store: memoryStore(),
      policy: {
        ...(maxRepeats !== undefined && { maxRepeats }),
        ...(maxTools !== undefined && { maxTools }),
        ...(maxSameCall !== undefined && { maxSameCall }),
      },
      authorize: () => ({ tenant: 'local' }),
      onReport(report) {
        const { repairs, blocked, status, outcome } = report
        const request = requests.getStore()
        if (request) request.isTold = true
        if (repairs.length) count(repaired)
        if (blocked.length) count(refused)
        printReport(report, reportLine(report), status, status >= 400 || outcome === 'failed')
      },
      onError: (error) => complain(error, json),
    })
    const handle = async (request: Request) => {
      const begun = performance.now()
      const state = { isTold: false }
      const response = await requests.run(state, () => proxied(request))
      // Another path, or a request that was refused before it was read: no report follows.
      if (!state.isTold && !response.headers.has('x-turnlock-report')) {
        const { status } = response
        const [{ method }, { pathname: path }] = [request, new URL(request.url)]
        const ms = Math.round(performance.now() - begun)
        const text = `${statusOf(status)} ${line(method, 32).padEnd(9)} ${line(path)} ${dim(`${ms} ms`)}`
        printReport({ mode, method, path, status, ms }, text, status)
      }
      return response
    }
    // The proxy itself complains of responses that break.
    const { origin, ended } = await listen(handle, portOf(values), () => {})
    const address = `${origin}/v1`
    console.log(json ? asJson({ address, mode }) : `${mode}: ${address} → ${line(upstream)}`)
    const code = await ended
    progress()
    console.log(json ? asJson({ total }) : dim(summed(total)))
    return code
  },
})

/**
 * Names that no page of another site can have. Without this list, a page whose own name leads to this
 * machine would spend the key.
 */
const LOCAL = ['localhost', '127.0.0.1', '[::1]']

function namesOf(given = ''): string[] {
  const names = given.split(',').filter((name) => name !== '')
  if (names.every((name) => HOST.test(name))) return names
  throw new Usage('--allow-host: names such as host.docker.internal, with commas')
}

/** What is done in a mode, and what would be. */
const DOES = {
  observe: { repaired: 'would_be_repaired', refused: 'would_be_refused' },
  repair: { repaired: 'repaired', refused: 'would_be_refused' },
  bound: { repaired: 'repaired', refused: 'refused' },
}
type Mode = keyof typeof DOES
const MODES = Object.keys(DOES)
const isMode = (mode: string): mode is Mode => Object.hasOwn(DOES, mode)

const statusOf = (status: number) => (status < 400 ? green : red)(String(status))

const spoken = (what: string) => what.replaceAll('_', ' ')

const summed = (total: Record<string, number>) =>
  Object.entries(total)
    .map(
      ([what, count]) =>
        `${count} ${what === 'requests' && count === 1 ? 'request' : spoken(what)}`,
    )
    .join(', ')

function reportLine(report: ProxyReport): string {
  const { mode, route, repairs, calls, blocked, forced, status, ms, bytes } = report
  const { outcome, error, repeats } = report
  const { repaired, refused } = DOES[mode]
  const parts = [
    ...(calls.length ? [`calls ${calls.map((name) => line(name, 64)).join(', ')}`] : []),
    ...repairs.map(({ code }) => `${code} ${spoken(repaired)}`),
    ...blocked.map(
      ({ name, repeats }) => `${line(name, 64)} ${spoken(refused)} (${repeats} before)`,
    ),
    ...repeats
      .filter(({ isLoop }) => isLoop)
      .map(({ name, row }) => `loop: ${line(name, 64)} ${row} times in a row`),
    ...(forced ? [`answer forced: ${forced}`] : []),
    ...(outcome === 'failed' && error ? [`failed: ${error}`] : []),
  ]
  const size = dim(`${bytes.request} → ${bytes.response} B, ${Math.round(ms)} ms`)
  return `${statusOf(status)} ${route.padEnd(9)} ${size}${parts.length ? `  ${parts.join('; ')}` : ''}`
}
