// Runs the command many times in one process: to start one takes a third of a second of a processor. For
// runs that neither read standard input nor listen; `commands.mjs` starts it.
import { pathToFileURL } from 'node:url'

const [, , path, lists] = process.argv
const write = process.stdout.write.bind(process.stdout)
// Each run listens once more.
process.stdout.setMaxListeners(0)
const runs = []
for (const [at, args] of JSON.parse(lists).entries()) {
  const run = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr']) {
    process[name].write = (text) => {
      run[name] += text
      return true
    }
  }
  process.argv = [process.execPath, path, ...args]
  process.exitCode = 0
  // Of another address a module is another one: it runs again.
  await import(`${pathToFileURL(path)}?${at}`)
  runs.push({ ...run, status: process.exitCode })
}
process.exitCode = 0
write(JSON.stringify(runs))
