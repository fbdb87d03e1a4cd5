// Where turns run: in this page, kept in its own store, or at the edge, behind the handler that the
// server of this page has (`pkg/src/cli/edge.ts`). A turn stays where it began.
import { cancelTurn, followTurn, resumeTurn, runTurn } from 'turnlock'
import { byId } from './dom.js'
import { recall, remember, store } from './kept.js'
import { modelAt, toolMs } from './settings.js'
import { turnTools } from './tools.js'

const here = {
  run: ({ place, mode, policy, messages, log }) =>
    runTurn({ model: modelAt(place, log), mode, policy, messages, tools: turnTools(), store }),
  follow: ({ id }, after) => followTurn({ requestId: id, store, after }),
  resume: ({ id, place }, wish, log) =>
    resumeTurn({ requestId: id, model: modelAt(place, log), tools: turnTools(), store, ...wish }),
  cancel: ({ id }, reason) => cancelTurn({ requestId: id, store, reason }),
}

/** What of the policy a visitor of the edge may choose. */
const OPEN = ['maxTools', 'pauseAfterTools']

/** Who this browser is to the edge. */
function visitor() {
  let id = recall('visitor')
  if (!id) {
    id = crypto.randomUUID?.() ?? `visitor-${String(Math.random()).slice(2)}`
    remember('visitor', id)
  }
  return id
}

const headersOf = ({ place, ms = 0 } = {}) => {
  const [, session, behaviour] = /\/s\/([^/]+)\/([^/]+)\//.exec(place?.path ?? '') ?? []
  const placeHeader = session && { 'x-place': [place.wire, behaviour, session, ms].join(' ') }
  return { 'x-visitor': visitor(), ...placeHeader }
}

const turns = async (turn) => {
  const { remoteTurns } = await import('turnlock/remote')
  return remoteTurns({ url: new URL('./edge', location.href).href, headers: headersOf(turn) })
}

const edge = {
  run: async ({ place, ms, policy: { maxTools, pauseAfterTools }, messages }) =>
    (await turns({ place, ms })).run({ messages, policy: { maxTools, pauseAfterTools } }),
  follow: async (turn, after) => (await turns(turn)).follow({ requestId: turn.id, after }),
  resume: async (turn, wish) => (await turns(turn)).resume({ requestId: turn.id, ...wish }),
  cancel: async (turn, reason) => (await turns(turn)).cancel({ requestId: turn.id, reason }),
}

/** Who runs a turn that is remembered. */
export const runnerOf = (turn) => (turn.edge ? edge : here)

/** Where the next turn runs, and how long each of its calls takes there. A link may name an edge. */
export const chosenPlace = () => ({
  edge: !byId('places').hidden && byId('where').value === 'edge',
  ms: toolMs(),
})

/** Shows where a turn runs; the next one runs there, too. */
export function showPlace({ edge = false }) {
  byId('where').value = edge ? 'edge' : 'page'
  byId('where').dispatchEvent(new Event('change'))
}

/** The next turn runs in the page if its policy has what the edge decides itself. */
export function keepTo(policy = {}) {
  if (Object.keys(policy).some((name) => !OPEN.includes(name))) showPlace({})
}

/** The terms of the edge's next turn: its owner decides, but for what a visitor may choose. */
export async function edgeTerms({ policy }) {
  const answer = await fetch('./edge', { headers: headersOf() })
  const { default: route = '' } = await answer.json()
  const mode = route.endsWith('two_stage') ? 'two_stage' : 'unified'
  return { mode, policy: { ...policy, actionTools: [], maxCycles: 1 } }
}

async function owner(init) {
  const answer = await fetch('./edge-owner', { ...init, headers: headersOf() })
  return (await answer.json()).owner
}

/** A site of static files has no edge. */
export async function setUpWhere() {
  if (document.documentElement.dataset.model === 'page') return
  byId('places').hidden = false
  const show = () => {
    const away = byId('where').value === 'edge'
    byId('owners').hidden = !away
    for (const field of document.querySelectorAll('[data-here], #policy [name]')) {
      field.disabled = away && !OPEN.includes(field.name)
    }
    if (away && byId('provider').value !== 'scripted') {
      byId('provider').value = 'scripted'
      byId('provider').dispatchEvent(new Event('change'))
    }
  }
  let last = 0
  const showOwner = async (init) => {
    const request = ++last
    const ownerName = await owner(init).catch(() => undefined)
    // What was asked later counts, and a server that is gone says nothing.
    if (ownerName && request === last) byId('owner').value = ownerName
  }
  byId('where').addEventListener('change', () => {
    show()
    if (byId('where').value === 'edge') void showOwner()
  })
  byId('owner').addEventListener('change', () => {
    void showOwner({ method: 'PUT', body: byId('owner').value })
  })
  show()
}
