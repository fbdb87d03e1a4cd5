/** The proxy on one's own machine, with a line for each request. */
import type { ProxyReport } from 'turnlock/proxy'
import { dim, green, line, read, red, told, Usage, whole, type Command } from './command.js'
import { listen } from './listen.js'

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
    const [maxRepeats, maxTools] = [whole(values, 'max-repeats'), whole(values, 'max-tools')]
    const { createProxy } = await import('turnlock/proxy')
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
    const { origin, ended } = await listen(handle, whole(values, 'port') ?? 0)
    const address = `${origin}/v1`
    console.log(
      json ? JSON.stringify({ address, mode }) : `${mode}: ${address} → ${line(upstream)}`,
    )
    return ended
  },
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
