/**
 * The edge of the page: turns that the server runs with `createHandler` and the scripted provider, and
 * the owner's switch. Each visitor is a tenant, and the owner of an edge.
 */
import { setTimeout } from 'node:timers/promises'
import {
  defineTool,
  memoryStore,
  PROVIDERS,
  providerModel,
  type Dialect,
  type Model,
  type Tool,
} from 'turnlock'
import { sampleTools, type ScriptedProvider } from 'turnlock/testing'

/** The positions of the owner's switch. */
const SWITCH_POSITIONS = ['two_stage', 'unified', 'off']
/** Maximum owners in memory; the others have the first position. */
const MAX_OWNERS = 1000
/** Maximum delay of a tool, in milliseconds. */
const MAX_TOOL_MS = 60_000

/** The model and the tools of a turn, from the header `x-place`. */
interface Place {
  wire: Dialect
  behaviour: string
  session: string
  toolMs: number
}

interface EdgeSession {
  tenant: string
  place: Place | undefined
}

const refusal = (status: number, code: string, message: string) =>
  Response.json({ error: { code, message } }, { status })

function placeOf({ headers }: Request, behaviours: object): Place | undefined {
  const words = (headers.get('x-place') ?? '').split(' ')
  const [wire = '', behaviour = '', session = '', toolMs] = words
  const provider = PROVIDERS.find(({ dialect, client }) => client !== undefined && dialect === wire)
  const isKnown = provider && Object.hasOwn(behaviours, behaviour)
  if (!isKnown || !/^[\w-]{1,64}$/.test(session)) return undefined
  const delay = Math.min(Number(toolMs) || 0, MAX_TOOL_MS)
  return { wire: provider.dialect, behaviour, session, toolMs: delay }
}

function visitorOf({ headers }: Request): string | undefined {
  const [visitor] = /^[\w-]{8,64}$/.exec(headers.get('x-visitor') ?? '') ?? []
  return visitor
}

interface DelayedTool {
  description: string
  inputSchema: Record<string, unknown>
  readOnly?: boolean
  needsApproval?: boolean
  execute(args: never): unknown
}

/** Returns the tools of the page, which take `toolMs` milliseconds. */
function toolsFor(toolMs: number): Record<string, Tool> {
  const delayed = ({ execute, ...options }: DelayedTool) =>
    defineTool({
      ...options,
      async execute(args: unknown, { signal }: { signal: AbortSignal }) {
        if (toolMs) await setTimeout(toolMs, undefined, { signal })
        return execute(args as never)
      },
    })
  const { list_files, read_file } = sampleTools()
  const send_note = {
    description: 'Sends a note to a person.',
    inputSchema: { type: 'object', required: ['to', 'text'] },
    needsApproval: true,
    // The edge sends it to nobody.
    execute: () => ({ sent: 1 }),
  }
  return {
    list_files: delayed(list_files),
    read_file: delayed(read_file),
    send_note: delayed(send_note),
  }
}

/** Whether the edge answers this path. */
export const isEdgePath = (pathname: string): boolean => /^\/edge(-owner|\/|$)/.test(pathname)

/** Returns a handler of requests for which `isEdgePath` is true. */
export async function createEdge(
  provider: ScriptedProvider,
): Promise<(request: Request) => Promise<Response>> {
  const { createHandler } = await import('turnlock/server')
  /** Visitor → position of the owner's switch. */
  const positions = new Map<string, string>()
  const positionFor = (request: Request) =>
    positions.get(visitorOf(request) ?? '') ?? SWITCH_POSITIONS[0]
  const handler = createHandler<EdgeSession>({
    basePath: '/edge',
    store: memoryStore(),
    authorize(request) {
      const [visitor, place] = [visitorOf(request), placeOf(request, provider.behaviours)]
      if (!visitor) return null
      const { pathname } = new URL(request.url)
      const isStart = request.method === 'POST' && /^\/edge(\/messages\w*)?$/.test(pathname)
      if (isStart && positionFor(request) === 'off') {
        return refusal(403, 'edge.off', 'the owner of this edge has switched turns off')
      }
      if (isStart && !place) {
        return refusal(400, 'edge.place', 'x-place: expected a wire, a behaviour and a session')
      }
      return { tenant: visitor, place }
    },
    model(_, { place }): Model {
      if (!place) throw new Error('no model is named')
      return providerModel({
        dialect: place.wire,
        baseURL: `http://model.invalid/s/${place.session}/${place.behaviour}/v1`,
        model: 'scripted',
        apiKey: 'none',
        fetch: provider.fetch,
      })
    },
    tools: (_, { place }) => toolsFor(place?.toolMs ?? 0),
    twoStage: (request: Request) => ({
      enabled: positionFor(request) === 'two_stage',
      default: true,
      maxTools: 10,
    }),
  })
  return async (request) => {
    if (new URL(request.url).pathname !== '/edge-owner') return handler(request)
    const visitor = visitorOf(request)
    if (!visitor) return refusal(401, 'session.missing', 'who asks?')
    if (request.method === 'PUT') {
      // A position is shorter than a chunk.
      const { value } = (await request.body?.getReader().read()) ?? {}
      const position = new TextDecoder().decode(value)
      if (!SWITCH_POSITIONS.includes(position)) {
        return refusal(400, 'edge.switch', `one of ${SWITCH_POSITIONS.join()}`)
      }
      positions.set(visitor, position)
      const [oldest = ''] = positions.keys()
      if (positions.size > MAX_OWNERS) positions.delete(oldest)
    }
    return Response.json({ owner: positionFor(request) })
  }
}
