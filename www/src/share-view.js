// Share: what stands in the fields of a view, as an address that only their reader opens. Fields are
// named one by one: the key and the base URL of an endpoint are none of them.
import { byId } from './dom.js'
import { LONGEST, packed, unpacked, withoutKeys } from './share.js'

const POLICY = [
  'maxTools',
  'readMode',
  'actionTools',
  'actionMaxTools',
  'maxCycles',
  'resultsAs',
  'maxSteps',
  'modelIdleMs',
  'pauseAfterTools',
]

/** View → ids of its fields. */
const FIELDS = {
  turn: [
    'where',
    'prompt',
    'behaviour',
    'wire',
    'toolMs',
    'own-tools',
    ...POLICY.map((name) => `policy-${name}`),
  ],
  doctor: ['history', 'dialect', 'strategy', 'conversation', 'refusal', 'loops-budget'],
  bundle: ['replicates', 'bundle-schema', 'must-agree', 'bundle-bytes', 'epsilon', 'bundle-rule'],
  planner: ['ask', 'ask-input', 'ask-limit'],
  chain: ['chain-query', 'chain-plan', 'chain-steps', 'chain-parallel', 'chain-fails'],
}

/** What runs with the fields as they are then. */
const THEN = {
  turn: () => byId('own-tools').value && (byId('own-tools').closest('details').open = true),
  bundle: () => byId('bundle-form').requestSubmit(),
  planner: () => byId('ask-form').requestSubmit(),
  chain() {
    byId('chain-example').selectedIndex = -1
    byId('chain-form').requestSubmit()
  },
}

const viewNow = () => location.hash.split('?')[0].slice(1) || 'race'

/** The address of a view as it stands. */
async function linkTo(view) {
  const page = location.href.split('#')[0]
  // Their own addresses say it all.
  if (view === 'race' || view === 'proxy') return `${page}${location.hash || '#race'}`
  const state = {}
  for (const id of FIELDS[view]) {
    const field = byId(id)
    state[id] = field.type === 'checkbox' ? field.checked : withoutKeys(field.value)
  }
  if (view === 'turn') state.mode = byId('settings').elements.mode.value
  return `${page}#${view}?s=${await packed(JSON.stringify(state))}`
}

const showStatus = (text) => {
  byId('share').textContent = text
  byId('shared').textContent = text
  setTimeout(() => (byId('share').textContent = 'Share'), 2500)
}

async function share() {
  const link = await linkTo(viewNow())
  if (link.length > LONGEST) return showStatus('Too long to share')
  try {
    await navigator.clipboard.writeText(link)
    showStatus('Link copied')
  } catch {
    history.replaceState(null, '', link)
    showStatus('See the address')
  }
}

/** Puts what a link says into the fields of a view that is set up. */
export async function openShared(view) {
  const [at, given] = location.hash.slice(1).split('?s=')
  if (at !== view || !given || !FIELDS[view]) return
  let state
  try {
    state = JSON.parse(await unpacked(given))
  } catch {
    return showStatus('The link is broken')
  }
  // A link takes the place of nothing that the browser keeps for the visitor.
  const isKept = (id) => id === 'own-tools' && byId(id).value
  const wanted = FIELDS[view].filter((id) => fits(byId(id), state?.[id]) && !isKept(id))
  const put = () => {
    for (const id of wanted) {
      const field = byId(id)
      if (field.type === 'checkbox') field.checked = state[id]
      else field.value = state[id]
    }
  }
  put()
  const modes = byId('settings').elements.mode
  if (view === 'turn' && [...modes].some(({ value }) => value === state.mode)) {
    modes.value = state.mode
  }
  for (const id of wanted) {
    for (const type of ['input', 'change']) byId(id).dispatchEvent(new Event(type))
  }
  // A field that is written changes others.
  put()
  THEN[view]?.()
}

function fits(field, value) {
  if (field.type === 'checkbox') return typeof value === 'boolean'
  if (typeof value !== 'string') return false
  return !field.options || [...field.options].some((option) => option.value === value)
}

export function setUpShare() {
  byId('share').addEventListener('click', () => void share())
  // The same page with another link is no new page.
  addEventListener('hashchange', () => void openShared(viewNow()))
}
