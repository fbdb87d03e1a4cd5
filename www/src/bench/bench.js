// Bench: what the core costs in this browser, beside what one would use instead. Measured in workers,
// so that the page goes on answering.
import { showLog } from '../dock/dock.js'
import { Log } from '../dock/log.js'
import { byId, element } from '../dom.js'
import { median } from './measure.js'

const WORKERS = new URL('./dist/bench/', document.baseURI)

const STREAM = 'A response of 4 000 text events'
/** What is measured. The first subject is what the others are divided by. */
const CASES = [
  {
    ...{ id: 'stream-1', kind: 'stream', size: 1, unit: 'µs an event' },
    ...{ title: 'Stream, one event a chunk', about: `${STREAM}, as OpenAI streams it.` },
  },
  {
    ...{ id: 'stream-16', kind: 'stream', size: 16, unit: 'µs an event' },
    ...{ title: 'Stream, sixteen events a chunk', about: `${STREAM}, as a busy server sends it.` },
  },
  ...[200, 1_000, 10_000].map((messages) => ({
    ...{ id: `histories-${messages}`, kind: 'histories', messages, unit: 'ms' },
    title: `History, ${messages.toLocaleString('en').replace(',', ' ')} messages`,
    about:
      'Into a request for OpenAI, repaired. What `ai` makes is no request yet, and not repaired.',
  })),
  ...[
    [3, 30],
    [8, 250],
  ].map(([k, fields]) => ({
    ...{ id: `bundles-${k}`, kind: 'bundles', k, fields, unit: 'ms' },
    title: `Bundle, ${k} answers of ${fields} fields`,
    about: 'Distances, consensus, distributions; plain JavaScript of the same definitions.',
  })),
  {
    ...{ id: 'cold', kind: 'cold', unit: 'ms' },
    title: 'Cold start',
    about: 'A new worker each time: from the import to the first text of a turn.',
  },
]
/** Names of cold starts; the floor has nothing to compile. */
const COLD = { floor: 'eventsource-parser + JSON.parse', turnlock: 'turnlock runTurn' }
const COLD_PEER = { ai: 'ai streamText' }

/** Id → subject → a time for each round. */
let times = {}
let log
/** The worker that is at work, and what ends the wait for it. */
let working

export function setUpBench() {
  byId('bench-cases').replaceChildren(...CASES.map(section))
  byId('bench-run').addEventListener('click', () => void run())
  byId('bench-stop').addEventListener('click', () => working?.stop())
  byId('bench-copy').addEventListener('click', () => void copy())
  const [given] = new URLSearchParams(location.hash.split('?')[1]).getAll('rounds')
  if (/^\d{1,2}$/.test(given ?? '') && given > 0) byId('bench-rounds').value = given
}

function section({ id, title, about, unit }) {
  const head = ['', `median, ${unit}`, 'times the first', 'least to greatest']
  const cells = head.map((text) => element('th', { scope: 'col' }, text))
  cells[0] = element('td')
  const table = element('table', { id: `bench-${id}` })
  table.setAttribute('aria-labelledby', `bench-${id}-title`)
  table.append(element('thead', {}, element('tr', {}, ...cells)), element('tbody'))
  const scroll = element('div', { className: 'bench-scroll', tabIndex: 0 }, table)
  scroll.setAttribute('role', 'group')
  scroll.setAttribute('aria-labelledby', `bench-${id}-title`)
  return element(
    'section',
    {},
    element('h2', { id: `bench-${id}-title` }, title),
    element('p', { className: 'hint about' }, about),
    scroll,
  )
}

const say = (text) => (byId('bench-status').textContent = text)

/** The subjects of a case; a ratio is the median of those of the rounds. */
function rowsOf(id) {
  const all = Object.entries(times[id])
  const [, first] = all[0]
  return all.map(([name, list]) => {
    const ratio = median(list.map((time, round) => time / first[round]))
    return { name, list, ratio, median: median(list) }
  })
}

function show(id) {
  const rows = rowsOf(id)
  const longest = Math.max(...rows.map((row) => row.median))
  const made = rows.map(({ name, list, ratio, median: middle }) => {
    const bar = element('span', { className: 'bar' })
    // By a property: the policy of the page allows no style in the markup.
    bar.style.width = `${(100 * middle) / longest}%`
    return element(
      'tr',
      { className: name.startsWith('turnlock') ? 'own' : '' },
      element('th', { scope: 'row' }, name, bar),
      element('td', {}, number(middle)),
      element('td', {}, `${number(ratio)} ×`),
      element('td', {}, `${number(Math.min(...list))} to ${number(Math.max(...list))}`),
    )
  })
  byId(`bench-${id}`).tBodies[0].replaceChildren(...made)
}

const number = (value) => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)

function note(id, round, measured) {
  const own = (times[id] ??= {})
  for (const [name, time] of Object.entries(measured)) (own[name] ??= []).push(time)
  show(id)
  log.add({ type: id, round, times: measured })
  const { title } = CASES.find((one) => one.id === id)
  say(`${title}: round ${round} of ${byId('bench-rounds').value}.`)
}

/** A worker, and each message of it until `take` gives something, which is the result. */
function work(name, task, take) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(name, WORKERS), { type: 'module' })
    const end = (settle, value) => {
      worker.terminate()
      working = undefined
      settle(value)
    }
    working = { stop: () => end(reject, new Error('stopped')) }
    worker.addEventListener('error', (event) => {
      event.preventDefault()
      end(reject, new Error(event.message || 'the worker could not be loaded'))
    })
    worker.addEventListener('message', ({ data }) => {
      if (data.error) return end(reject, new Error(data.error))
      const result = take(data)
      if (result !== undefined) end(resolve, result)
    })
    worker.postMessage(task)
  })
}

async function run() {
  const rounds = Math.max(1, Number(byId('bench-rounds').value) || 1)
  byId('bench-rounds').value = rounds
  const beside = byId('bench-peer').checked
  times = {}
  log = new Log()
  showLog('bench', log)
  for (const { id } of CASES) byId(`bench-${id}`).tBodies[0].replaceChildren()
  const buttons = (busy) => {
    for (const id of ['run', 'rounds', 'peer']) byId(`bench-${id}`).disabled = busy
    byId('bench-stop').disabled = !busy
    byId('bench-copy').disabled = busy || !Object.keys(times).length
  }
  buttons(true)
  byId('bench-stop').focus()
  say('Loading…')
  try {
    const cases = CASES.filter(({ kind }) => kind !== 'cold')
    await work('worker.js', { cases, rounds, beside }, ({ done, id, round, times: measured }) => {
      if (done) return true
      note(id, round, measured)
    })
    await coldStarts(rounds, beside)
    say(`Done: medians of ${rounds} interleaved rounds.`)
  } catch (error) {
    say(`Not finished: ${error.message}.`)
  }
  const hadFocus = document.activeElement === byId('bench-stop')
  buttons(false)
  if (hadFocus) byId('bench-run').focus()
}

async function coldStarts(rounds, beside) {
  const subjects = { ...COLD, ...(beside && COLD_PEER) }
  const start = (key) => work('cold.js', key, ({ ms }) => ms)
  // The first time, the browser fetches and compiles what it then keeps.
  for (const key of Object.keys(subjects)) await start(key)
  for (let round = 1; round <= rounds; round++) {
    const measured = {}
    for (const [key, name] of Object.entries(subjects)) measured[name] = await start(key)
    note('cold', round, measured)
  }
}

/** The results as Markdown. */
function markdown() {
  const parts = CASES.filter(({ id }) => times[id]).map(({ id, title, unit }) => {
    const rows = rowsOf(id).map(
      ({ name, list, ratio, median: middle }) =>
        `| ${name} | ${number(middle)} | ${number(ratio)} | ${number(Math.min(...list))} to ${number(Math.max(...list))} |`,
    )
    return `| ${title} | median, ${unit} | times the first | least to greatest |\n|---|---|---|---|\n${rows.join('\n')}`
  })
  const { userAgent, hardwareConcurrency } = navigator
  return [...parts, `${userAgent}, ${hardwareConcurrency} threads`].join('\n\n')
}

async function copy() {
  try {
    await navigator.clipboard.writeText(markdown())
    say('Copied as Markdown.')
  } catch {
    say('This browser lets no page write to the clipboard.')
  }
}
