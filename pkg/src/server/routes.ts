/** Maps paths to routes. */
import { isId } from './body.js'

/** The meaning of a route's prefix: a mode, or the default one. */
export type Prefix = 'unified' | 'two_stage' | 'default'

/** What a host may serve beside turns, by name. */
export type RunKind = 'passes' | 'bundles' | 'chains'

type Verb = 'resume' | 'cancel' | 'pause' | 'claim'

export type Route =
  | { name: 'start'; prefix: Prefix; methods: readonly string[] }
  | { name: Verb; prefix: Prefix; methods: readonly string[] }
  | {
      name: 'events' | 'trace'
      prefix: Prefix
      methods: readonly string[]
      requestId: string | undefined
    }
  | { name: 'turns' | 'traces'; methods: readonly string[] }
  | { name: 'chat'; methods: readonly string[]; chat: string }
  | { name: 'run'; methods: readonly string[]; kind: RunKind; run: string }
  | { name: 'pass_events'; methods: readonly string[] }

const PREFIXES: Record<string, Prefix> = {
  '': 'default',
  messages: 'unified',
  messages_two_stage: 'two_stage',
}
const PATH =
  /^(?:\/(messages|messages_two_stage))?(?:\/(resume|cancel|pause|claim|turns|traces)|\/([^/]+)\/(events|trace))?$/
const CHAT = /^(?:\/messages|\/messages_two_stage)?\/([^/]+)\/stream$/
const RUN = /^\/(passes|bundles|chains)\/([^/]+)$/

/** The name of a route, as `authorize` gets it. `switches` is `GET` on the base itself. */
export type RouteName =
  | 'start'
  | 'switches'
  | Verb
  | 'events'
  | 'turns'
  | 'trace'
  | 'traces'
  | 'chat'
  | RunKind
  | 'pass_events'

/** The public name of a route. */
export function routeName(route: Route, method: string): RouteName {
  if (route.name === 'run') return route.kind
  return route.name === 'start' && method === 'GET' ? 'switches' : route.name
}

/** What a handler serves beside turns. */
export interface Served {
  has(kind: RunKind, name: string): boolean
  passEvents: boolean
  traces: boolean
  /** `GET …/:chat/stream`, as clients of the format ask for what is open of a chat. */
  chats: boolean
}

/** The route of `path`, relative to the base path; `undefined` if there is none. */
export function routeOf(path: string, served: Served): Route | undefined {
  const [, kind, run = ''] = RUN.exec(path) ?? []
  if (kind && served.has(kind as RunKind, run)) {
    return { name: 'run', methods: ['POST'], kind: kind as RunKind, run }
  }
  if (path === '/agents/events' && served.passEvents) {
    return { name: 'pass_events', methods: ['GET'] }
  }
  const chat = served.chats && decoded(CHAT.exec(path)?.[1])
  if (chat) return { name: 'chat', methods: ['GET'], chat }
  const [all, folder = '', verb, id, part] = PATH.exec(path) ?? []
  const prefix = PREFIXES[folder]
  if (all === undefined || !prefix) return undefined
  if ((verb === 'traces' || part === 'trace') && !served.traces) return undefined
  if (verb === 'turns' || verb === 'traces') return { name: verb, methods: ['GET'] }
  if (verb) return { name: verb as Verb, prefix, methods: ['POST'] }
  if (id !== undefined) {
    const requestId = decoded(id)
    return {
      name: part as 'events' | 'trace',
      prefix,
      methods: ['GET'],
      requestId: isId(requestId) ? requestId : undefined,
    }
  }
  return { name: 'start', prefix, methods: prefix === 'default' ? ['GET', 'POST'] : ['POST'] }
}

/** Decodes a part of a URL; `undefined` if it is none. */
function decoded(text: string | undefined): string | undefined {
  try {
    return text && decodeURIComponent(text)
  } catch {
    return undefined
  }
}
