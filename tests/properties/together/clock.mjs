// Time that passes only when nothing else is left to do, and processes that can be stopped in it.
//
// While it is installed, `setTimeout`, `performance.now`, `Date.now` and what is random belong to the
// simulation: the package takes them from the globals, so a schedule of minutes takes milliseconds and
// is the same again with the same seed. A timer and a random number belong to the process that asks
// (an async context), whatever else runs beside it.
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomOf } from './random.mjs'

const running = new AsyncLocalStorage()
/** The process whose code runs now. */
export const current = () => running.getStore()

const [turnOfTheLoop, realTimeout] = [setImmediate, setTimeout]
/** A schedule that takes longer does not end. */
const LONGEST = 24 * 3_600_000
const MOST_STEPS = 100_000
/** Work without a timer, such as a module that is loaded, has half a second of real time. */
const [PATIENCE, A_WHILE] = [100, 5]
const EPOCH = 1_700_000_000_000

export class Clock {
  now = 1000
  /** Whether the next timer is lost, in a world that does this wrong. */
  loses
  #timers = new Map()
  #last = 0
  #real

  get size() {
    return this.#timers.size
  }

  /** How many timers of the package are set; those of the simulation do not count. */
  get timers() {
    return [...this.#timers.values()].filter(({ own }) => !own).length
  }

  /** @returns what takes it away again */
  install() {
    const { setTimeout, clearTimeout } = globalThis
    const { now } = Date
    const { random } = Math
    this.#real = clearTimeout
    const fallback = randomOf(7)
    const next = () => (current()?.random ?? fallback).next()
    const own = { getRandomValues: crypto.getRandomValues, randomUUID: crypto.randomUUID }
    globalThis.setTimeout = (work, ms, ...args) => this.#set(() => work(...args), ms)
    globalThis.clearTimeout = (timer) => this.#clear(timer)
    performance.now = () => this.now
    Date.now = () => EPOCH + Math.floor(this.now)
    Math.random = next
    crypto.getRandomValues = (array) => {
      for (let at = 0; at < array.length; at++) array[at] = next() * 256
      return array
    }
    crypto.randomUUID = () => {
      const hex = Array.from({ length: 32 }, () => Math.floor(next() * 16).toString(16)).join('')
      return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    }
    return () => {
      Object.assign(globalThis, { setTimeout, clearTimeout })
      delete performance.now
      Date.now = now
      Math.random = random
      Object.assign(crypto, own)
    }
  }

  #set(work, ms, own = false) {
    const id = `virtual ${++this.#last}`
    if (!own && this.loses?.()) return id
    const at = this.now + (ms > 0 ? ms : 0)
    this.#timers.set(id, { at, work, own, process: current() })
    return id
  }

  #clear(timer) {
    if (typeof timer === 'string') this.#timers.delete(timer)
    else this.#real(timer)
  }

  /** Resolves later in the process that asks, when it is awake. */
  sleep(ms) {
    return new Promise((resolve) => this.#set(resolve, ms, true))
  }

  /** Resolves later, whatever becomes of the process that asks: the network, a store. */
  passes(ms) {
    return new Promise((resolve) => running.exit(() => this.#set(resolve, ms, true)))
  }

  /** Calls `work` then, in no process. */
  at(time, work) {
    running.exit(() => this.#set(work, time - this.now, true))
  }

  /**
   * Lets time pass until `over`, which is asked behind each step, says so.
   * @returns whether it did; otherwise something waits for ever
   */
  async until(over) {
    let idle = 0
    for (let step = 0; step < MOST_STEPS && this.now < LONGEST; step++) {
      await new Promise((resolve) => turnOfTheLoop(resolve))
      if (over()) return true
      let first
      for (const [id, timer] of this.#timers) {
        if (!first || timer.at < first.timer.at) first = { id, timer }
      }
      if (!first) {
        if (idle++ > PATIENCE) return false
        await new Promise((resolve) => realTimeout(resolve, A_WHILE))
        continue
      }
      idle = 0
      this.#timers.delete(first.id)
      const { at, work, process } = first.timer
      if (process?.frozen) {
        process.held.push(() => running.run(process, work))
        continue
      }
      this.now = Math.max(this.now, at)
      if (process) running.run(process, work)
      else work()
    }
    return false
  }
}

/** A process: what runs in it stands still while it is frozen, as in one that is killed. */
export class Process {
  frozen = false
  /** What came while it was frozen. */
  held = []
  /** What it saw, in order. */
  log = []

  constructor(clock, name, seed) {
    this.clock = clock
    this.name = name
    this.random = randomOf(seed)
  }

  run(work) {
    return running.run(this, work)
  }

  note(...what) {
    this.log.push([this.clock.now, ...what])
  }

  /** What the world answers reaches it when it is awake. */
  async awake() {
    while (this.frozen) await new Promise((resolve) => this.held.push(resolve))
  }

  wakes() {
    this.frozen = false
    // One after the other, as timers that are due.
    for (const work of this.held.splice(0)) {
      this.clock.at(this.clock.now, () => (this.frozen ? this.held.push(work) : work()))
    }
  }
}
