// Checks the handler over real HTTP in the runtimes named on the command line: node, workerd,
// deno, bun. Every check runs in each of them, against the same application (app.mjs).
import { createProvider } from '../provider/server.mjs'
import { attacks } from './attacks.mjs'
import { createReceiver } from './client.mjs'
import { example } from './example.mjs'
import { formats } from './formats.mjs'
import { guards } from './guards.mjs'
import { notOk } from '../runtimes.mjs'
import { routes } from './routes.mjs'
import { runs } from './runs.mjs'
import { runtimes } from './runtimes.mjs'
import { streams } from './streams.mjs'
import { restarts, turns } from './turns.mjs'
import { types } from './types.mjs'

const checksFor = (host) => ({
  ...routes,
  ...guards,
  ...attacks,
  ...streams,
  ...turns,
  ...runs,
  ...example,
  ...formats,
  ...(host.restart && restarts),
  ...(host.runtime === 'node' && types),
})
const names = process.argv.slice(2).filter((word) => word in runtimes)
/** Other words name the checks to run. */
const words = process.argv.slice(2).filter((word) => !(word in runtimes))
/** A check that hangs has failed. */
const PATIENCE = 600_000

const late = (name) =>
  new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`${name}: still running`)), PATIENCE).unref()
  })

let [passed, failed] = [0, 0]
for (const name of names.length ? names : Object.keys(runtimes)) {
  const [provider, receiver] = [await createProvider(), await createReceiver()]
  const host = await runtimes[name]({ PROVIDER: provider.url, RECEIVER: receiver.url })
  Object.assign(host, { provider, receiver, runtime: name })
  for (const [title, check] of Object.entries(checksFor(host))) {
    if (words.length && !words.some((word) => title.includes(word))) continue
    try {
      await Promise.race([check(host), late(title)])
      passed += 1
    } catch (error) {
      failed += 1
      console.log(notOk(`${name}: ${title}\n${error.stack}`))
    }
  }
  await host.close()
  await Promise.all([provider.close(), receiver.close()])
}
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed ? 1 : 0)
