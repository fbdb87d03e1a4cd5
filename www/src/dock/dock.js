// The dock at the bottom: the events of the view above it, each of them whole. Only the rows that are
// seen are in the page, so that a list of many thousands scrolls.
import { byId, element, many, short } from '../dom.js'
import { asCurl, asLines, asTest, isWhole } from './copies.js'
import { Log } from './log.js'

/** As in `dock.css`. */
const ROW_PX = 28
/** Rows beyond what is seen, so that a fast wheel meets no gap. */
const BEYOND = 8
/** How often the dock is drawn while a turn streams. */
const EVERY_MS = 100
/** Characters of one event that are shown; a copy has all. */
const MOST = 200_000

/** View → its log. */
const logs = new Map()
let view
let log = new Log()
/** Places of the entries that the filter lets through. */
let places = []
/** How many entries the filter has seen. */
let filtered = 0
/** A place in `log.entries`. */
let chosen
let isDue = false
let drawn = -Infinity

const isOpen = () => byId('dock-toggle').getAttribute('aria-expanded') === 'true'

/** From now on the view shows this log. */
export function showLog(of, shown) {
  logs.set(of, shown)
  if (of === view) take(shown)
}

/** The dock follows the view. */
export function followView(shown) {
  view = shown
  take(logs.get(shown) ?? new Log())
}

function take(shown) {
  log.onAdded = () => {}
  log = shown
  log.onAdded = due
  places = []
  filtered = 0
  chosen = undefined
  byId('dock-kind').value = ''
  byId('dock-list').scrollTop = 0
  byId('dock-said').textContent = ''
  draw()
}

export function setUpDock() {
  byId('dock-toggle').addEventListener('click', () => open(!isOpen()))
  byId('dock-kind').addEventListener('change', () => {
    places = []
    filtered = 0
    byId('dock-list').scrollTop = 0
    draw()
  })
  byId('dock-list').addEventListener('scroll', rows)
  byId('dock-list').addEventListener('keydown', onKey)
  byId('dock-list').addEventListener('click', ({ target }) => {
    const row = target.closest('[role=option]')
    if (row) choose(places[Number(row.dataset.at)])
  })
  byId('dock-at').addEventListener('input', ({ target }) => {
    choose(places[Number(target.value) - 1], { scroll: true })
  })
  byId('dock-copy').addEventListener(
    'click',
    () => void copy(JSON.stringify(current().value, null, 2), 'The event'),
  )
  byId('dock-lines').addEventListener(
    'click',
    () => void copy(asLines(log), 'All of them, as JSON lines'),
  )
  byId('dock-curl').addEventListener(
    'click',
    () => void copy(asCurl(requestAt(chosen)), 'The request, as curl'),
  )
  byId('dock-test').addEventListener('click', () => void copy(asTest(log), 'The turn, as a test'))
  addEventListener('resize', () => isOpen() && rows())
  open(false)
}

function open(wish) {
  byId('dock-toggle').setAttribute('aria-expanded', String(wish))
  byId('dock').classList.toggle('open', wish)
  document.documentElement.classList.toggle('dock-open', wish)
  byId('dock-body').hidden = !wish
  if (wish) draw()
}

/** Draws once for all that is added meanwhile. */
function due() {
  if (isDue) return
  isDue = true
  const since = performance.now() - drawn
  setTimeout(() => {
    requestAnimationFrame(() => {
      isDue = false
      drawn = performance.now()
      draw()
    })
  }, EVERY_MS - since)
}

function draw() {
  const { entries, requests, sent } = log
  const parts = [many(entries.length - requests.length, 'event')]
  if (requests.length) parts.push(many(requests.length, 'request'), `${kB(sent)} sent`)
  byId('dock-counts').textContent = entries.length ? parts.join(' · ') : 'nothing yet'
  if (!isOpen()) return
  kinds()
  const kind = byId('dock-kind').value
  const list = byId('dock-list')
  const wasAtEnd = list.scrollTop + list.clientHeight >= places.length * ROW_PX - 4
  for (; filtered < entries.length; filtered++) {
    if (!kind || entries[filtered].type === kind) places.push(filtered)
  }
  byId('dock-size').style.height = `${places.length * ROW_PX}px`
  // At the end it stays there, unless somebody looks at one.
  if (wasAtEnd && chosen === undefined) list.scrollTop = list.scrollHeight
  const slider = byId('dock-at')
  slider.max = Math.max(1, places.length)
  slider.disabled = !places.length
  rows()
  buttons()
}

const kB = (bytes) => (bytes < 1000 ? `${bytes} B` : `${(bytes / 1000).toFixed(1)} kB`)

/** The filter has what there is. */
function kinds() {
  const select = byId('dock-kind')
  const listed = new Set([...select.options].map(({ value }) => value))
  const wanted = ['', ...log.counts.keys()]
  if (wanted.every((kind) => listed.has(kind)) && listed.size === wanted.length) return
  const { value } = select
  select.replaceChildren(
    ...wanted.map((kind) => element('option', { value: kind }, kind || 'every kind')),
  )
  select.value = wanted.includes(value) ? value : ''
}

/** Puts the rows there that are seen. */
function rows() {
  const list = byId('dock-list')
  const first = Math.max(0, Math.floor(list.scrollTop / ROW_PX) - BEYOND)
  const last = Math.min(places.length, first + Math.ceil(list.clientHeight / ROW_PX) + 2 * BEYOND)
  const made = []
  for (let at = first; at < last; at++) made.push(row(at))
  const box = byId('dock-rows')
  box.style.transform = `translateY(${first * ROW_PX}px)`
  box.replaceChildren(...made)
  const active = made.find((one) => one.getAttribute('aria-selected') === 'true')
  if (active) list.setAttribute('aria-activedescendant', active.id)
  else list.removeAttribute('aria-activedescendant')
}

function row(at) {
  const { type, value } = log.entries[places[at]]
  const made = element('div', { id: `dock-row-${at}`, className: `dock-row ${KIND[type] ?? ''}` })
  made.dataset.at = at
  made.setAttribute('role', 'option')
  made.setAttribute('aria-selected', String(places[at] === chosen))
  made.setAttribute('aria-posinset', at + 1)
  made.setAttribute('aria-setsize', places.length)
  made.append(
    element('span', { className: 'at' }, String(places[at] + 1)),
    element('strong', {}, String(type)),
    element('span', { className: 'what' }, saidOf(value)),
  )
  return made
}

const KIND = {
  request: 'model',
  tool_results: 'ran',
  refused: 'stopped',
  text: 'said',
  error: 'wrong',
  complete: 'fine',
}

/** The messages of a request, whatever its wire calls them. */
const listOf = (body) => [body?.messages, body?.input, body?.contents].find(Array.isArray) ?? []

/** What an event is about, in a few words. */
function saidOf(value) {
  if (typeof value !== 'object' || value === null) return short(String(value), 160)
  const { chunk, toolCalls, toolResults, reason, phase, url, code, message, ...rest } = value
  if (chunk !== undefined) return short(String(chunk), 160)
  const calls = toolCalls?.map(({ name, args }) => `${name} ${short(args ?? {}, 60)}`).join(', ')
  if (calls) return reason ? `${reason}: ${calls}` : calls
  if (toolResults) return toolResults.map(({ name, status }) => `${name}: ${status}`).join(', ')
  if (url) return short(`${many(listOf(rest.body).length, 'message')} to ${url}`, 160)
  if (code) return short(`${code}: ${message}`, 160)
  if (phase) return phase
  const { type: _, seq: __, requestId: ___, ...told } = rest
  return short(told, 160)
}

const current = () => log.entries[chosen]

/** The request of a place, or the last one before it. */
function requestAt(place) {
  for (let at = place ?? log.entries.length - 1; at >= 0; at--) {
    if (log.entries[at].request) return log.entries[at].request
  }
  return undefined
}

function choose(place, { scroll = false } = {}) {
  if (place === undefined) return
  chosen = place
  const text = JSON.stringify(current().value, null, 2) ?? ''
  byId('dock-json').textContent =
    text.length > MOST ? `${text.slice(0, MOST)}\n… a copy has all ${text.length} characters` : text
  byId('dock-json').scrollTop = 0
  const at = places.indexOf(place)
  byId('dock-at').value = at + 1
  byId('dock-at').setAttribute('aria-valuetext', `${at + 1} of ${places.length}: ${current().type}`)
  const list = byId('dock-list')
  if (scroll) {
    const top = at * ROW_PX
    if (top < list.scrollTop) list.scrollTop = top
    else if (top + ROW_PX > list.scrollTop + list.clientHeight) {
      list.scrollTop = top + ROW_PX - list.clientHeight
    }
  }
  rows()
  buttons()
}

function onKey(event) {
  const list = byId('dock-list')
  const page = Math.max(1, Math.floor(list.clientHeight / ROW_PX) - 1)
  const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page }[event.key]
  const end = { Home: 0, End: places.length - 1 }[event.key]
  if ((by === undefined && end === undefined) || !places.length) return
  event.preventDefault()
  const from = chosen === undefined ? -1 : places.indexOf(chosen)
  const at = end ?? Math.min(places.length - 1, Math.max(0, from + by))
  choose(places[at], { scroll: true })
}

function buttons() {
  if (chosen === undefined) byId('dock-json').textContent = 'Choose an event to see all of it.'
  byId('dock-copy').disabled = chosen === undefined
  byId('dock-lines').disabled = !log.entries.length
  byId('dock-curl').disabled = !requestAt(chosen)
  byId('dock-test').disabled = !isWhole(log)
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text)
    byId('dock-said').textContent = `${what}: copied.`
  } catch {
    byId('dock-json').textContent = text
    getSelection().selectAllChildren(byId('dock-json'))
    byId('dock-said').textContent = `${what}: selected, press Ctrl+C.`
  }
}
