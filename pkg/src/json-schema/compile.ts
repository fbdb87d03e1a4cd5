/**
 * JSON Schema, draft 2020-12, as a graph of checks. Keywords of older drafts that schemas of today still
 * have count too: `definitions`, `dependencies`, lists as `items`, `additionalItems`, `$recursiveRef`,
 * `exclusiveMinimum: true`.
 *
 * A schema may come from a stranger. Only own members are followed, at every step of a pointer, and
 * compiling takes time in proportion to the schema's size.
 */
import { isObject } from '../checks.js'
import { checksOf } from './keywords.js'
import type { Path, Result, Run, Seen } from './run.js'

/** A keyword as a function. */
export type Check = (run: Run, value: unknown, path: Path, seen: Seen | undefined) => Result

/** A part of a document that has an address of its own: the root, and what has `$id`. */
export interface Resource {
  readonly uri: string
  readonly root: object
  /** Schemas by `$anchor`, `$dynamicAnchor`, and `$id` with a fragment alone. */
  readonly anchors: Map<string, object>
  /** Those of `$dynamicAnchor`; that of `$recursiveAnchor` has the name `''`. */
  readonly dynamic: Map<string, SchemaNode>
}

export interface SchemaNode {
  readonly resource: Resource
  readonly checks: Check[]
  /** Why nothing can be checked by it: a keyword has an invalid form. */
  broken?: string
}

export type Schema = SchemaNode | boolean

export interface CompileOptions {
  /**
   * Whether regular expressions are made and run. Without, each of them counts as one that may match:
   * `pattern`, the names of `patternProperties`, and the format `regex`.
   */
  patterns: boolean
}

export interface Compiled {
  readonly root: Schema
  /** The first keyword with an invalid form, in the whole schema. */
  readonly broken: string | undefined
  /** Whether members and items that were evaluated have to be noted. */
  readonly notes: boolean
}

/** The address of a schema without one. Nothing is fetched from it, or from any other. */
const BASE = 'schema:/root'

type Raw = Record<string, unknown>

/** An own member. */
export const memberOf = (raw: object, name: string): unknown =>
  Object.hasOwn(raw, name) ? (raw as Raw)[name] : undefined

interface Reference {
  readonly from: Resource
  readonly to: string
  readonly found: (raw: object | boolean, resource: Resource) => void
}

export class Compiler {
  readonly patterns: boolean
  notes = false
  readonly #nodes = new Map<object, SchemaNode>()
  readonly #resources = new Map<string, Resource>()
  /** Schemas that have no checks yet. */
  readonly #open: [Raw, SchemaNode, string][] = []
  #references: Reference[] = []
  #broken: string | undefined

  constructor({ patterns }: CompileOptions) {
    this.patterns = patterns
  }

  /** @throws Error in words for a reference that leads nowhere, or an invalid regular expression */
  compile(raw: object): Compiled {
    const resource = this.#resource(BASE, raw)
    const root = this.node(raw as Raw, resource, '#')
    this.#finish()
    return { root, broken: this.#broken, notes: this.notes }
  }

  /** The schema of a value; `undefined` if the value is none. */
  schema(value: unknown, resource: Resource, at: string): Schema | undefined {
    if (typeof value === 'boolean') return value
    return isObject(value) ? this.node(value, resource, at) : undefined
  }

  node(raw: Raw, parent: Resource, at: string): SchemaNode {
    const compiled = this.#nodes.get(raw)
    if (compiled) return compiled
    const node: SchemaNode = { resource: this.#resourceOf(raw, parent), checks: [] }
    this.#nodes.set(raw, node)
    this.#open.push([raw, node, at])
    return node
  }

  /** Looks for what a reference names when all schemas have been read. */
  refer(from: Resource, to: string, found: Reference['found']): void {
    this.#references.push({ from, to, found })
  }

  /** Notes a keyword without a valid form. */
  breaks(node: SchemaNode, why: string): void {
    node.broken ??= why
    this.#broken ??= why
  }

  #resource(uri: string, root: object): Resource {
    const resource: Resource = { uri, root, anchors: new Map(), dynamic: new Map() }
    // Of several with the same address the first counts.
    if (!this.#resources.has(uri)) this.#resources.set(uri, resource)
    return resource
  }

  #resourceOf(raw: Raw, parent: Resource): Resource {
    const id = memberOf(raw, '$id')
    if (typeof id !== 'string' || id === '' || id === '#') return parent
    if (id.startsWith('#')) {
      parent.anchors.set(id.slice(1), raw)
      return parent
    }
    const uri = resolve(id, parent.uri)?.uri
    if (uri === undefined) throw new Error(`\`$id\` is not a valid URI: ${id}`)
    return this.#resource(uri, raw)
  }

  #finish(): void {
    let late: Reference[] = []
    let isLast = false
    for (;;) {
      for (let next = this.#open.pop(); next; next = this.#open.pop()) this.#read(...next)
      const references = this.#references
      this.#references = []
      for (const reference of references) {
        if (this.#follow(reference)) continue
        if (isLast) throw new Error(`\`$ref\` leads nowhere: ${reference.to}`)
        late.push(reference)
      }
      if (this.#open.length > 0 || this.#references.length > 0) continue
      if (late.length === 0) return
      // An anchor may stand where only a pointer leads. Once, or this would take quadratic time.
      isLast = true
      this.#references = late
      late = []
    }
  }

  #read(raw: Raw, node: SchemaNode, at: string): void {
    const { resource } = node
    for (const keyword of ['$anchor', '$dynamicAnchor']) {
      const name = memberOf(raw, keyword)
      if (typeof name !== 'string') continue
      if (!resource.anchors.has(name)) resource.anchors.set(name, raw)
      if (keyword === '$dynamicAnchor') resource.dynamic.set(name, node)
    }
    if (memberOf(raw, '$recursiveAnchor') === true && resource.root === raw) {
      resource.dynamic.set('', node)
    }
    checksOf(raw, node, at, this)
  }

  #follow({ from, to, found }: Reference): boolean {
    const target = to.startsWith('#')
      ? { uri: from.uri, fragment: to.slice(1) }
      : resolve(to, from.uri)
    const resource = target && (target.uri === from.uri ? from : this.#resources.get(target.uri))
    if (!target || !resource) return false
    const fragment = decoded(target.fragment)
    if (fragment === undefined) return false
    const raw = isPointer(fragment)
      ? pointedTo(resource.root, fragment)
      : resource.anchors.get(fragment)
    if (typeof raw !== 'boolean' && !isObject(raw)) return false
    found(raw, resource)
    return true
  }
}

export const isPointer = (fragment: string) => fragment === '' || fragment.startsWith('/')

/** The fragment of a reference, decoded. */
export const fragmentOf = (to: string) => decoded(to.slice(to.indexOf('#') + 1 || to.length))

/** What a JSON pointer (RFC 6901) leads to, through own members alone. */
function pointedTo(root: unknown, pointer: string): unknown {
  let at = root
  for (const part of pointer.split('/').slice(1)) {
    if (typeof at !== 'object' || at === null) return undefined
    at = memberOf(at, part.replaceAll('~1', '/').replaceAll('~0', '~'))
  }
  return at
}

function decoded(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return undefined
  }
}

function resolve(reference: string, base: string): { uri: string; fragment: string } | undefined {
  try {
    const { href, hash } = new URL(reference, base)
    const end = href.indexOf('#')
    return { uri: end < 0 ? href : href.slice(0, end), fragment: hash.slice(1) }
  } catch {
    return undefined
  }
}
