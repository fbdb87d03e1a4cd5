/** A handler on this machine, until the command is interrupted. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { TurnlockError } from 'turnlock'
import { wholeNumber } from './command.js'

/** The port of the options. */
export const portOf = (values: Record<string, unknown>) =>
  wholeNumber(values, 'port', { most: 65_535 }) ?? 0

/**
 * Serves on 127.0.0.1 and says the address. `port` 0: a free one. The promise of `ended` is the
 * exit code, behind SIGINT or SIGTERM.
 */
export async function listen(
  handle: (request: Request) => Promise<Response>,
  port: number,
  /** Receives errors of responses; default: they are printed with their stack. */
  onError?: (error: unknown) => void,
): Promise<{ origin: string; ended: Promise<number> }> {
  const { toNodeListener } = await import('turnlock/server')
  const server = createServer(toNodeListener(handle, { ...(onError && { onError }) }))
  await new Promise<void>((resolve, reject) => {
    server.once('error', ({ code, message }: NodeJS.ErrnoException) => {
      const why = code === 'EADDRINUSE' ? ' is in use; --port 0 takes a free one' : `: ${message}`
      reject(new TurnlockError('command.listen', `--port ${port}${why}`))
    })
    server.listen(port, '127.0.0.1', resolve)
  })
  const ended = new Promise<number>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        server.closeAllConnections()
        server.close(() => resolve(0))
      })
    }
  })
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ended }
}
