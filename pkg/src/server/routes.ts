/** Maps paths to routes. */
import { isId } from './body.js'

/** The meaning of a route's prefix: a mode, or the default one. */
export type Prefix = 'unified' | 'two_stage' | 'default'

/** What a host may serve beside turns, by name. */
export type RunKind = 'passes' | 'bundles' | 'chains'

export type Route =
  | { name: 'start'; prefix: Prefix; methods: readonly string[] }
  | { name: 'resume' | 'cancel' | 'pause'; prefix: Prefix; methods: readonly string[] }
  | { name: 'events'; prefix: Prefix; methods: readonly string[]; requestId: string | undefined }
  | { name: 'run'; methods: readonly string[]; kind: RunKind; run: string }
  | { name: 'pass_events'; methods: readonly string[] }

const PREFIXES: Record<string, Prefix> = {
  '': 'default',
  messages: 'unified',
  messages_two_stage: 'two_stage',
}
const PATH = /^(?:\/(messages|messages_two_stage))?(?:\/(resume|cancel|pause)|\/([^/]+)\/events)?$/
const RUN = /^\/(passes|bundles|chains)\/([^/]+)$/

/** What a handler serves beside turns. */
export interface Served {
  has(kind: RunKind, name: string): boolean
  passEvents: boolean
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
  const [all, folder = '', verb, id] = PATH.exec(path) ?? []
  const prefix = PREFIXES[folder]
  if (all === undefined || !prefix) return undefined
  if (verb === 'resume' || verb === 'cancel' || verb === 'pause')
    return { name: verb, prefix, methods: ['POST'] }
  if (id !== undefined) return { name: 'events', prefix, methods: ['GET'], requestId: decoded(id) }
  return { name: 'start', prefix, methods: prefix === 'default' ? ['GET', 'POST'] : ['POST'] }
}

/** Decodes an id from a URL; `undefined` if it is not a valid id. */
function decoded(text: string): string | undefined {
  try {
    const id = decodeURIComponent(text)
    return isId(id) ? id : undefined
  } catch {
    return undefined
  }
}
