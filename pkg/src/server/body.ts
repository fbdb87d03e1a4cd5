/** Reads request bodies: strict JSON of a bounded size, and only the expected members. */
import { readBody } from './bytes.js'
import { EXCESS, jsonExcess } from './json-density.js'
import { Refusal } from './refusal.js'
import type { ActionTools } from './two-stage.js'

/** Throws unless the media type is `application/json`, with any parameters. */
export function checkContentType(request: Request): void {
  const type = request.headers.get('content-type') ?? ''
  // A comma makes it a list, of which other software may use the last element.
  const essence = type
    .split(';', 1)[0]
    ?.replace(/^[\t ]+|[\t ]+$/g, '')
    .toLowerCase()
  if (essence === 'application/json' && !type.includes(',')) return
  throw new Refusal(415, 'request.content_type', 'expected content-type: application/json')
}

/** The JSON value of a body of at most `most` bytes. */
export async function readJson(request: Request, most: number): Promise<unknown> {
  checkContentType(request)
  const bytes = await readBody(request, most)
  const excess = jsonExcess(bytes)
  if (excess) {
    throw new Refusal(400, excess, EXCESS[excess])
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown
  } catch {
    throw new Refusal(400, 'request.json', 'the body is not JSON in UTF-8')
  }
}

/** The members of an object from a client. Each is checked when it is read; others are ignored. */
export class Fields {
  /** The object itself, which is untrusted. */
  readonly members: Record<string, unknown>
  readonly #path: string

  constructor(value: unknown, path: string) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw invalid(path || 'the body', 'an object')
    }
    this.members = value as Record<string, unknown>
    this.#path = path && `${path}.`
  }

  /** Returns an own member; `undefined` if it is missing or null. */
  #own(name: string): unknown {
    // Never through the prototype.
    return Object.hasOwn(this.members, name) ? (this.members[name] ?? undefined) : undefined
  }

  #read<T>(name: string, what: string, fits: (value: unknown) => value is T): T | undefined {
    const value = this.#own(name)
    if (value === undefined || fits(value)) return value
    throw invalid(this.#path + name, what)
  }

  text(name: string, most: number): string | undefined {
    return this.#read(
      name,
      `text of at most ${most} characters`,
      (value): value is string => typeof value === 'string' && value.length <= most,
    )
  }

  /** The name of a conversation. Half characters of it would become one in a store. */
  name(name: string): string | undefined {
    const value = this.text(name, 256)
    if (value === undefined || !/\p{Surrogate}/u.test(value)) return value
    throw invalid(this.#path + name, 'text without lone surrogates')
  }

  id(name: string): string | undefined {
    return this.#read(name, 'an id of 1 to 128 of A-Z a-z 0-9 . _ : -', isId)
  }

  count(name: string): number | undefined {
    return this.#read(name, 'a whole number from 0', (value): value is number => isCount(value))
  }

  boolean(name: string): boolean | undefined {
    return this.#read(name, 'true or false', (value) => typeof value === 'boolean')
  }

  list(name: string): unknown[] | undefined {
    return this.#read(name, 'a list', (value) => Array.isArray(value))
  }

  /** The tools of an answer phase. */
  actionTools(name: string): ActionTools | undefined {
    return this.#read(name, 'names of tools, readOnly or *', (value): value is ActionTools =>
      Array.isArray(value)
        ? value.every((one) => typeof one === 'string')
        : value === 'readOnly' || value === '*',
    )
  }

  object(name: string): Fields | undefined {
    const value = this.#own(name)
    return value === undefined ? undefined : new Fields(value, this.#path + name)
  }
}

export const isId = (value: unknown): value is string =>
  typeof value === 'string' && /^[A-Za-z0-9_][A-Za-z0-9._:-]{0,127}$/.test(value)

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

export const invalid = (path: string, what: string): Refusal =>
  new Refusal(400, 'request.invalid', `${path}: expected ${what}`)

/**
 * The id of a turn, as in every format.
 *
 * @throws Refusal 400, so that no longer one is kept or looked up
 */
export function turnIdOf(value: unknown, path: string): string {
  if (isId(value)) return value
  throw invalid(path, 'the id of a turn')
}

/** A text of a client; empty where it is none, as what is no text may have no form as one. */
export const textIn = (value: unknown): string => (typeof value === 'string' ? value : '')

/** An object with the member, or an empty object if it has no value. */
export const optional = <K extends string, T>(name: K, value: T | undefined) =>
  (value === undefined ? {} : { [name]: value }) as { [key in K]?: T }

/** Throws if a required member of a body is missing. */
export function needed<T>(value: T | undefined, path: string): T {
  if (value === undefined) throw invalid(path, 'a value')
  return value
}

/** What the body of a new turn names. */
export function startOf(body: Fields) {
  const requestId = body.id('requestId')
  // `/agents/events` lists the events of passes, and `/passes/events` may run one.
  if (/^(agents|passes|bundles|chains)$/.test(requestId ?? '')) {
    throw invalid('requestId', 'an id that names no route')
  }
  return {
    messages: needed(body.list('messages'), 'messages'),
    ...optional('requestId', requestId),
    ...optional('conversationId', body.name('conversationId')),
  }
}

/**
 * Maximum approvals in one request, and results; a batch has no more calls.
 *
 * Limit | approvals or results of a body | entries | 400 `request.invalid`
 */
const MOST_APPROVALS = 128

/** A client may drop results. It may not write any: they would count as those of the host's tools. */
export function droppedOf(list: unknown[] | undefined) {
  if (list && list.length > MOST_APPROVALS) throw invalid('results', `at most ${MOST_APPROVALS}`)
  return list?.map((value, at) => {
    const fields = new Fields(value, `results.${at}`)
    if (fields.boolean('drop') !== true) throw invalid(`results.${at}.drop`, 'true')
    const toolCallId = needed(fields.text('toolCallId', 1024), `results.${at}.toolCallId`)
    return { toolCallId, drop: true as const }
  })
}

/** The outcomes of calls that the client's page has run. The core cuts and boxes them. */
export function outcomesOf(list: unknown[] | undefined) {
  if (list && list.length > MOST_APPROVALS) throw invalid('outcomes', `at most ${MOST_APPROVALS}`)
  return list?.map((value, at) => {
    const fields = new Fields(value, `outcomes.${at}`)
    const toolCallId = needed(fields.text('toolCallId', 1024), `outcomes.${at}.toolCallId`)
    const error = fields.object('error')
    if (!error) return { toolCallId, ...optional('result', fields.members['result']) }
    const code = error.text('code', 64)
    const message = error.text('message', 65_536) ?? ''
    return { toolCallId, error: { ...optional('code', code), message } }
  })
}

/** The ids of the calls that a client claims. */
export function callIdsOf(list: unknown[] | undefined): string[] {
  const ids = needed(list, 'toolCallIds')
  const fits = (id: unknown): id is string => typeof id === 'string' && id.length <= 1024
  if (ids.length <= MOST_APPROVALS && ids.every(fits)) return ids
  throw invalid('toolCallIds', `at most ${MOST_APPROVALS} ids`)
}

/**
 * Characters of the reason of an approval. The core cuts it to 500 bytes.
 *
 * Limit | the reason of an approval in a body | characters | 400 `request.invalid`
 */
const MOST_REASON = 4096

/** The approvals of a request. */
export function approvalsOf(list: unknown[] | undefined) {
  if (list && list.length > MOST_APPROVALS) {
    throw invalid('approvals', `at most ${MOST_APPROVALS}`)
  }
  return list?.map((value, at) => {
    const path = `approvals.${at}`
    const fields = new Fields(value, path)
    const signature = needed(fields.text('signature', 64), `${path}.signature`)
    if (!/^[0-9a-f]{64}$/.test(signature)) throw invalid(`${path}.signature`, 'a signature')
    return {
      signature,
      approved: needed(fields.boolean('approved'), `${path}.approved`),
      ...optional('reason', fields.text('reason', MOST_REASON)),
    }
  })
}
