// @ts-nocheck
// The edge beside the page: turns that its server runs by `createHandler`, with the scripted model,
// and the switch of its owner. Each visitor is a tenant, and the owner of its own edge.
import { setTimeout } from 'node:timers/promises'
import * as turnlock from 'turnlock'
import { BEHAVIOURS } from '../testing/provider/behaviours.js'
import { CLIENTS, modelOf } from '../../../tests/lanes.mjs'
import { LIST_FILES, READ_FILE } from '../../../www/src/files.js'

const { defineTool, memoryStore } = turnlock

/** What the owner lets visitors have. */
const SWITCH = ['two_stage', 'unified', 'off']
/** Owners that are remembered; the others have the first position. */
const MOST_OWNERS = 1000
/** Milliseconds that a tool may be asked to take. */
const SLOWEST = 60_000

const refused = (status, code, message) => Response.json({ error: { code, message } }, { status })

/** What the page says of a turn's model and tools, if that is possible. */
function placeOf({ headers }) {
  const [wire, behaviour, session = '', toolMs] = (headers.get('x-place') ?? '').split(' ')
  const known = Object.hasOwn(CLIENTS, wire) && Object.hasOwn(BEHAVIOURS, behaviour)
  if (!known || !/^[\w-]{1,64}$/.test(session)) return undefined
  return { wire, behaviour, session, toolMs: Math.min(Number(toolMs) || 0, SLOWEST) }
}

function toolsFor({ toolMs }) {
  const slow = ({ execute, ...options }) =>
    defineTool({
      ...options,
      async execute(args, { signal }) {
        if (toolMs) await setTimeout(toolMs, undefined, { signal })
        return execute(args)
      },
    })
  const send_note = {
    description: 'Sends a note to a person.',
    inputSchema: { type: 'object', required: ['to', 'text'] },
    needsApproval: true,
    // The edge has nobody to send it to.
    execute: () => ({ sent: 1 }),
  }
  return { list_files: slow(LIST_FILES), read_file: slow(READ_FILE), send_note: slow(send_note) }
}

/** The paths of it. */
export const EDGE = /^\/edge(-owner|\/|$)/

/**
 * Answers requests of these paths.
 * @param {{ answer(request: Request, path: string): Promise<Response> }} sessions the scripted model
 */
export async function createEdge(sessions) {
  // Not at the top: commands that serve nothing do not load it.
  const { createHandler } = await import('turnlock/server')
  /** By visitor: the position of the owner's switch. */
  const owners = new Map()
  const visitorOf = ({ headers }) => {
    const [visitor] = /^[\w-]{8,64}$/.exec(headers.get('x-visitor') ?? '') ?? []
    return visitor
  }
  const ownerOf = (request) => owners.get(visitorOf(request)) ?? 'two_stage'
  const here = (url, init) => sessions.answer(new Request(url, init), new URL(url).pathname)
  const handler = createHandler({
    basePath: '/edge',
    store: memoryStore(),
    authorize(request) {
      const [visitor, place] = [visitorOf(request), placeOf(request)]
      if (!visitor) return null
      const { pathname } = new URL(request.url)
      const starts = request.method === 'POST' && /^\/edge(\/messages\w*)?$/.test(pathname)
      if (starts && ownerOf(request) === 'off') {
        return refused(403, 'edge.off', 'the owner of this edge has switched turns off')
      }
      if (starts && !place) {
        return refused(400, 'edge.place', 'x-place: expected a wire, a behaviour and a session')
      }
      return { tenant: visitor, place }
    },
    model(request, { place }) {
      if (!place) throw new Error('no model is named')
      const path = `/s/${place.session}/${place.behaviour}/v1`
      return modelOf(turnlock, place.wire, {
        ...{ baseURL: `http://model.invalid${path}`, model: 'scripted', apiKey: 'none' },
        fetch: here,
      })
    },
    tools: (request, { place }) => toolsFor(place ?? { toolMs: 0 }),
    twoStage: (request) => ({
      enabled: ownerOf(request) === 'two_stage',
      default: true,
      maxTools: 10,
    }),
  })
  return async (request) => {
    if (new URL(request.url).pathname !== '/edge-owner') return handler(request)
    const visitor = visitorOf(request)
    if (!visitor) return refused(401, 'session.missing', 'who asks?')
    if (request.method === 'PUT') {
      // The words are shorter than a piece.
      const { value } = (await request.body?.getReader().read()) ?? {}
      const wanted = new TextDecoder().decode(value)
      if (!SWITCH.includes(wanted)) return refused(400, 'edge.switch', `one of ${SWITCH.join()}`)
      owners.set(visitor, wanted)
      if (owners.size > MOST_OWNERS) owners.delete(owners.keys().next().value)
    }
    return Response.json({ owner: ownerOf(request) })
  }
}
