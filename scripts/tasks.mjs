// Commands that run side by side, and a word now and then about what is being waited for.
import { spawn } from 'node:child_process'

/** How often it is said what is being waited for, in milliseconds. */
const EVERY = 10_000
/** Lines of a command's output that are shown when it fails. */
const TAIL = 60

const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(0)} s`

const running = new Map()
let ticker

function tick() {
  const waiting = [...running.values()].map(
    ({ what, since, last }) => `${what} (${seconds(since)}${last && `: ${last}`})`,
  )
  console.log(`… waiting for ${waiting.join(', ')}`)
}

/**
 * Does `work` as a task with a name: it is listed while it runs, and its time is said at the end.
 * `work` gets a function that takes what the task is at.
 */
export async function task(what, work) {
  const entry = { what, since: Date.now(), last: '' }
  running.set(entry, entry)
  ticker ??= setInterval(tick, EVERY)
  try {
    const result = await work((last) => (entry.last = last))
    console.log(`${what}: done (${seconds(entry.since)})`)
    return result
  } finally {
    running.delete(entry)
    if (running.size === 0) ticker = clearInterval(ticker)
  }
}

/** Commands that run: none outlives this process. */
const children = new Set()
process.on('exit', () => children.forEach((child) => child.kill()))
// By default these end the process without the event above.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1))

/**
 * Runs a command; its output is shown only if it fails. `line` gets each line as it comes.
 * Rejects with the command, to be run by hand, and the end of what it said.
 */
export function command(program, args, { line, ...options } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options })
    children.add(child)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text
        if (line)
          for (const outputLine of text.split('\n')) if (outputLine.trim()) line(outputLine.trim())
      })
    }
    const failed = (why) => {
      const tail = output.trimEnd().split('\n').slice(-TAIL).join('\n')
      reject(new Error(`${tail}\n${why}; by hand: ${program} ${args.join(' ')}`))
    }
    child.on('error', (error) => failed(error.message))
    child.on('close', (code, signal) => {
      children.delete(child)
      if (code === 0) resolve(output)
      else failed(`ended with ${signal ?? code}`)
    })
  })
}

/** A function that does `work` once, and gives everybody its promise. */
export function once(work) {
  let result
  return () => (result ??= work())
}

/** Ends the process with the error's words instead of a stack: what failed was a command. */
export async function main(work) {
  try {
    await work()
  } catch (error) {
    clearInterval(ticker)
    console.error(error instanceof Error ? error.message : error)
    process.exit(1)
  }
}
