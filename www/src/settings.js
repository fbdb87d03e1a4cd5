// What the user has chosen: mode, model, policy.
import { PROVIDERS, providerModel } from 'turnlock'
import { scriptedProvider } from 'turnlock/testing'
import { byId, element } from './dom.js'
import { checked, watchRequests } from './endpoint.js'

/** Providers with a wire format of their own, which the scripted model speaks. */
const WIRES = PROVIDERS.filter(
  ({ client }, at) => client && PROVIDERS.findIndex((other) => other.client === client) === at,
)

const POLICY = [
  { name: 'maxTools', about: 'Tool calls in the tool phase', type: 'number', value: 1 },
  {
    name: 'readMode',
    about: 'Stop reading a response at',
    options: ['auto', 'first_call', 'batch'],
  },
  {
    name: 'actionTools',
    about: 'Tools of the action phase (names, commas)',
    type: 'text',
    value: '',
  },
  { name: 'actionMaxTools', about: 'Calls in the action phase', type: 'number', value: 1 },
  { name: 'maxCycles', about: 'Rounds of both phases', options: ['1', '2'] },
  { name: 'resultsAs', about: 'Results reach the model as', options: ['box', 'native'] },
  { name: 'maxSteps', about: 'Unified: model calls at most', type: 'number', value: 5 },
  { name: 'modelIdleMs', about: 'Silence of the model, ms', type: 'number', value: 10000 },
  { name: 'pauseAfterTools', about: 'Pause after the tools', type: 'checkbox' },
]

/** Fills the form. */
export async function setUp() {
  for (const { name, about, options, type, value } of POLICY) {
    const id = `policy-${name}`
    const input = options
      ? element('select', { id, name }, ...options.map((text) => element('option', {}, text)))
      : element('input', { id, name, type, value: value ?? '' })
    if (type === 'number') input.min = '0'
    if (type === 'text') Object.assign(input, { autocomplete: 'off', spellcheck: false })
    const label = element('label', { htmlFor: id }, type === 'checkbox' ? input : '', ` ${about}`)
    byId('policy').append(label)
    if (type !== 'checkbox') byId('policy').append(input)
  }
  byId('wire').append(
    ...WIRES.map(({ dialect, title }) => element('option', { value: dialect }, title)),
  )
  behaviours = await (await fetch('./behaviours.json')).json()
  byId('behaviour').append(
    ...Object.keys(behaviours).map((name) =>
      element('option', { value: name, selected: name === 'loop' }, name),
    ),
  )
  for (const id of ['behaviour', 'provider']) byId(id).addEventListener('change', show)
  show()
}

/** Name → what the scripted model does. */
let behaviours = {}

/** Only the fields of the chosen provider, and what its behaviour is. */
function show() {
  byId('about').textContent = behaviours[byId('behaviour').value]
  for (const part of document.querySelectorAll('[data-when]')) {
    part.hidden = part.dataset.when !== byId('provider').value
  }
}

/** The defaults, but for what is given. The wire and what was typed for a real endpoint stay. */
export function apply({ behaviour, toolMs = 0, policy: own = {} }) {
  for (const { name, options, type, value } of POLICY) {
    const input = byId(`policy-${name}`)
    if (type === 'checkbox') input.checked = own[name] ?? false
    else input.value = own[name] ?? options?.[0] ?? value
  }
  byId('settings').elements.mode.value = 'two_stage'
  byId('provider').value = 'scripted'
  byId('behaviour').value = behaviour
  byId('toolMs').value = toolMs
  show()
}

/** The choices with which a turn runs that was begun before a reload. */
export function restore({ mode, policy: own, place }) {
  for (const { name, type } of POLICY) {
    const input = byId(`policy-${name}`)
    if (type === 'checkbox') input.checked = own[name] ?? false
    else if (own[name] !== undefined) input.value = String(own[name])
  }
  byId('settings').elements.mode.value = mode
  const [, behaviour] = /\/s\/[^/]+\/([^/]+)\//.exec(place?.path ?? '') ?? []
  if (behaviour) Object.assign(byId('behaviour'), { value: behaviour })
  if (place) byId('wire').value = place.wire
  byId('provider').value = place ? 'scripted' : 'real'
  show()
}

function policy(form) {
  const chosen = {}
  for (const { name, type, value } of POLICY) {
    const input = form.elements[name]
    if (type === 'checkbox') chosen[name] = input.checked
    // An empty field is the default, not zero.
    else if (type === 'number') chosen[name] = Number(input.value === '' ? value : input.value)
    else if (name === 'actionTools')
      chosen[name] = input.value
        .split(',')
        .map((n) => n.trim())
        .filter(Boolean)
    else chosen[name] = name === 'maxCycles' ? Number(input.value) : input.value
  }
  // One silence for both: before the first byte, and between two.
  return { ...chosen, modelFirstByteMs: chosen.modelIdleMs }
}

/** The choices for one turn. */
export function choices() {
  const form = byId('settings')
  return { mode: form.elements.mode.value, policy: policy(form), place: place(form) }
}

/**
 * Where the scripted model of a turn is: a session of its own, also when the turn goes on after a
 * reload. Of a real endpoint nothing is remembered.
 */
function place(form) {
  if (form.elements.provider.value !== 'scripted') return undefined
  const session = crypto.randomUUID?.() ?? String(Math.random()).slice(2)
  const { behaviour, wire } = form.elements
  return { wire: wire.value, path: `./model/s/${session}/${behaviour.value}/v1` }
}

/** Without a server of its own (`npm run site`), the page plays the model. */
const inPage = document.documentElement.dataset.model === 'page'
const provider = scriptedProvider()
const answerHere = (url, init) => {
  const path = new URL(url).pathname.replace(/^.*\/model(?=\/s\/)/, '')
  return provider.handle(new Request(url, init), path)
}

/** The model of a place; without one, the endpoint that the form names. The log gets its requests. */
export function modelAt(place, log) {
  const value = (name) => byId('settings').elements[name].value
  const dialect = place?.wire ?? value('wire')
  if (place) {
    const baseURL = new URL(place.path, location.href).href
    const ask = inPage ? answerHere : (url, init) => fetch(url, init)
    return providerModel({ dialect, baseURL, model: 'scripted', fetch: log.recording(ask) })
  }
  return providerModel({
    dialect,
    baseURL: checked(value('baseURL')),
    model: value('model'),
    fetch: log.recording(watchRequests()),
    ...(value('apiKey') && { apiKey: value('apiKey') }),
    dangerouslyAllowBrowser: true,
  })
}

/** Shows the fields of a real endpoint. */
export function askForEndpoint() {
  byId('provider').value = 'real'
  show()
}

/** How long each call takes, so that there is time for a reload. */
export const toolMs = () => Number(byId('toolMs').value)
