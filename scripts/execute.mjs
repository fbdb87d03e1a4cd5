// Runs the command of a step. It leads a group, so that what it has started ends with it.
import { spawn } from 'node:child_process'

const running = new Set()
process.on('exit', () => running.forEach(end))

function end({ pid }) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

/**
 * The variables of a command that asks servers of this machine only. Its requests go to no proxy, and
 * Node reads no extra CA certificates: it would at every start, which takes 70 ms for those of Debian.
 */
export function direct({ NO_PROXY = '', no_proxy = '' }) {
  const exceptions = `${NO_PROXY},${no_proxy}`.split(',').map((host) => host.trim())
  const hosts = new Set([...exceptions.filter(Boolean), '127.0.0.1', 'localhost'])
  const value = [...hosts].join(',')
  return { NO_PROXY: value, no_proxy: value, NODE_EXTRA_CA_CERTS: undefined }
}

/** How long output is waited for after the command has exited, in milliseconds. */
const GRACE = 5_000

/**
 * Runs a command; `limit` is in milliseconds. `code` is 0 for success, and never after the limit.
 * What the command leaves behind is ended, and not waited for if it is in another group.
 */
export function execute([program, ...args], { limit, grace = GRACE, ...options }) {
  return new Promise((resolve) => {
    const stdio = ['ignore', 'pipe', 'pipe']
    const child = spawn(program, args, { ...options, stdio, detached: true })
    running.add(child)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => (output += text))
    }

    let late = false
    const timer = setTimeout(() => {
      late = true
      output += `\nnot ok: the step did not end within ${limit / 60_000} minutes\n`
      end(child)
    }, limit)
    let leftover
    const settle = (code) => {
      clearTimeout(timer)
      clearTimeout(leftover)
      running.delete(child)
      end(child)
      child.stdout.destroy()
      child.stderr.destroy()
      resolve({ code: late ? 1 : code, output })
    }
    child.on('error', (error) => {
      output += `\n${error}\n`
      settle(1)
    })
    child.on('exit', (code) => {
      clearTimeout(timer)
      // Once more around the loop: what was written in time is read first.
      leftover = setTimeout(() => setImmediate(settle, code), grace)
    })
    child.on('close', settle)
  })
}
