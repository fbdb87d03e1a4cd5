/** The proxy on one's own machine, with a line for each request. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ProxyReport } from 'turnlock/proxy'
import { dim, green, line, read, red, told, Usage, type Command } from './command.js'

const usage =
  'turnlock proxy --upstream URL [--mode observe|repair|bound] [--max-repeats N] [--max-tools N] [--port N] [--key-env NAME] [--json]'

/**
 * Serves on 127.0.0.1, at port 8787 unless `--port` says another (0: a free one). The key of the
 * provider is the value of the environment variable that `--key-env` names; without it, the client's
 * own key is passed on. Runs until it is interrupted.
 */
export const proxy: Command = {
  usage,
  async run(args) {
    const { values, positionals } = read(
      args,
      {
        upstream: { type: 'string' },
        mode: { type: 'string', default: 'observe' },
        'max-repeats': { type: 'string' },
        'max-tools': { type: 'string' },
        port: { type: 'string', default: '8787' },
        'key-env': { type: 'string' },
        json: { type: 'boolean', default: false },
      },
      usage,
    )
    const { upstream, mode, json } = values
    if (!upstream || positionals.length) throw new Usage(`usage: ${usage}`)
    const variable = values['key-env']
    const apiKey = variable === undefined ? undefined : process.env[variable]
    if (variable !== undefined && !apiKey) throw new Usage(`--key-env: ${variable} is not set`)
    const [maxRepeats, maxTools] = [number(values, 'max-repeats'), number(values, 'max-tools')]
    const { createProxy } = await import('turnlock/proxy')
    const { toNodeListener } = await import('turnlock/server')
    const handle = createProxy({
      upstream: { url: upstream, ...(apiKey ? { apiKey } : { passAuthorization: true }) },
      mode: mode as 'observe',
      policy: {
        ...(maxRepeats !== undefined && { maxRepeats }),
        ...(maxTools !== undefined && { maxTools }),
      },
      authorize: () => ({ tenant: 'local' }),
      onReport: (report) => console.log(json ? JSON.stringify(report) : shown(report)),
      onError: (error) => console.error(red(line(told(error)))),
    })
    const server = createServer(toNodeListener(handle))
    const port = number(values, 'port') ?? 0
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', resolve)
    })
    const { port: own } = server.address() as AddressInfo
    const address = `http://127.0.0.1:${own}/v1`
    console.log(
      json ? JSON.stringify({ address, mode }) : `${mode}: ${address} → ${line(upstream)}`,
    )
    return new Promise((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) {
        process.once(signal, () => {
          server.closeAllConnections()
          server.close(() => resolve(0))
        })
      }
    })
  },
}

function number(values: Record<string, unknown>, name: string): number | undefined {
  const given = values[name]
  if (given === undefined) return undefined
  if (typeof given === 'string' && /^\d{1,9}$/.test(given)) return Number(given)
  throw new Usage(`--${name}: a whole number`)
}

function shown({ mode, route, repairs, blocked, forced, status, ms, bytes }: ProxyReport): string {
  const would = mode === 'bound' ? '' : 'would be '
  const parts = [
    ...repairs.map(({ code }) => code),
    ...blocked.map(({ name, repeats }) => `${line(name, 64)} ${would}refused (${repeats} before)`),
    ...(forced ? [`answer forced: ${forced}`] : []),
  ]
  const mark = status < 400 ? green(String(status)) : red(String(status))
  const size = dim(`${bytes.request} → ${bytes.response} B, ${Math.round(ms)} ms`)
  return `${mark} ${route.padEnd(9)} ${size}${parts.length ? `  ${parts.join('; ')}` : ''}`
}
