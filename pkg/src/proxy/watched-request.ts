/** A request for a model's answer: its history is repaired, its response judged, both are reported. */
import { isTurnlockError } from '../errors.js'
import type { ProxyPolicy } from '../generated/proxy.js'
import { isPartial } from '../history/partial.js'
import { readBody } from '../server/bytes.js'
import { Refusal } from '../server/refusal.js'
import { readJson, type Body } from './body.js'
import {
  callsOf,
  continuedBy,
  isKept,
  missingResults,
  ResponseRecord,
  withContinued,
  type Remembered,
} from './conversation.js'
import { declaredSchemas } from './declared.js'
import type { Route, WatchedExchange } from './exchange.js'
import { isAsciiLike } from './frames.js'
import { foreign } from './gate.js'
import { REPORT } from './headers.js'
import { repairRequest } from '../history/repair.js'
import { Elements, mend } from './history.js'
import { Judge } from './judge.js'
import { list, listed, membersOf, object, withMember } from './json.js'
import { checkMode, policyOf, type ProxySession } from './options.js'
import { relayed } from './relay.js'
import { headerOf, sessionOf, type ProxyReport } from './report.js'
import { beginning, type Source } from './source.js'
import type { Wire } from './wire.js'

/**
 * Bytes of the beginning of an error response in which a fault of the history is looked for.
 *
 * Limit | the text of a refusal that is read | bytes | not read further
 */
const REFUSAL_BYTES = 64 * 1024

export class WatchedRequest {
  readonly #exchange: WatchedExchange
  readonly #wire: Wire
  readonly #route: Route
  readonly #policy: ProxyPolicy
  readonly #report: ProxyReport
  /** The body as it is sent, with the repairs; before `respond`, an empty one. */
  #body: Body = unread(new Uint8Array())
  /** Set when it is needed first; without `judge` if the history cannot be read. */
  #judgement: { judge: Judge | undefined } | undefined
  /** The response that the request continues, if it is remembered. */
  #remembered: Remembered | undefined
  /** The response, if later requests may continue it. */
  #record: ResponseRecord | undefined
  #isRecorded = false

  /** @throws TurnlockError `options.invalid` for the mode or the policy of the session */
  constructor(exchange: WatchedExchange, wire: Wire, session: ProxySession, route: Route) {
    const { settings, request } = exchange
    const mode = session.mode ?? settings.mode
    checkMode(mode)
    this.#exchange = exchange
    this.#wire = wire
    this.#route = route
    this.#policy = { ...settings.policy, ...policyOf(session.policy) }
    this.#report = newReport(mode, wire.name, session.tenant, sessionOf(request.headers))
  }

  /** @throws Refusal for a body that is not read, and for a provider that does not answer */
  async respond(): Promise<Response> {
    await this.#read()
    await this.#recall()
    this.#repair()
    const isSpent = this.#hasSpentBudget()
    if (isSpent) this.#report.forced = 'budget'
    const isForced = this.#holds && isSpent
    const response = await this.#firstResponse(isForced)
    const { status, body } = response
    this.#report.status = status
    this.#report.firstByteMs = Date.now() - this.#exchange.began
    const clientHeaders = this.#route.headersFor(response)
    clientHeaders.set(REPORT, headerOf(this.#report))
    if (!body) this.#end('complete')
    const clientBody = body && this.#relay(body, response.ok, isForced)
    // Without `statusText`: no `Response` can be constructed with one that is not Latin.
    return new Response(clientBody, { status, headers: clientHeaders })
  }

  /** Whether `bound` holds and refuses the calls of the response. */
  get #holds(): boolean {
    return this.#report.mode === 'bound' && this.#body.members !== undefined
  }

  /** Reads the body. `bound` refuses one that cannot be read; the other modes pass it. */
  async #read(): Promise<void> {
    const { request, limits, settings } = this.#exchange
    const received = await readBody(request, limits.bodyBytes)
    this.#report.bytes.request = received.byteLength
    const encoding = request.headers.get('content-encoding')
    const body = await readJson(received, encoding, limits.bodyBytes, settings.decode ?? {})
    if (!(body instanceof Refusal)) {
      this.#body = body
      return
    }
    if (this.#report.mode === 'bound') throw body
    this.#report.error = body.code
    this.#body = unread(received)
  }

  /** Finds out what is known of the response that the request continues. A store may fail. */
  async #recall(): Promise<void> {
    const { conversations } = this.#exchange
    const { members } = this.#body
    if (!members) return
    if (isPartial(members) || !this.#wire.isWhole(members)) this.#report.history = 'partial'
    if (!conversations) return
    if (isKept(this.#wire.name, members)) this.#record = new ResponseRecord()
    const continued = continuedBy(members)
    if (!continued) return
    const { tenant, mode } = this.#report
    try {
      this.#remembered = await conversations.recall(tenant, this.#wire.name, continued.id)
    } catch (error) {
      this.#exchange.reportError(error)
    }
    if (!this.#remembered) return
    this.#report.history = 'remembered'
    if (mode !== 'observe') this.#continue(this.#remembered, continued.path)
  }

  /**
   * Continues what the provider has: the answer that the client received in place of a response, and
   * the results of calls that it did not receive.
   */
  #continue(remembered: Remembered, path: readonly string[]): void {
    const { answer } = remembered
    if (answer !== undefined) this.#rewrite(withContinued(this.#body.json, path, answer))
    const name = this.#wire.history
    for (const { repair, result } of missingResults(remembered)) {
      const said = this.#body.members?.[name]
      if (typeof said === 'string') {
        const list = JSON.stringify([{ role: 'user', content: said }])
        this.#rewrite(withMember(this.#body.json, name, list))
      }
      const { json, members } = this.#body
      const at = membersOf(json).get(name)
      const history = members?.[name]
      if (!at || !Array.isArray(history)) return
      const elements = new Elements(json, at)
      this.#wire.mend?.(elements, history, [repair], result)
      this.#rewrite(json.slice(0, at.start) + elements.join() + json.slice(at.end))
      this.#report.repairs.push(repair)
    }
  }

  #rewrite(json: string): void {
    this.#body = { bytes: encode(json), json, members: object(JSON.parse(json)) }
  }

  /** Repairs the history. `observe` reports the repairs alone. */
  #repair(): void {
    const { json, members } = this.#body
    if (!members) return
    const mended = this.#reportingErrors(() => mend(json, members, this.#wire))
    if (!mended) return
    this.#report.repairs.push(...mended.repairs)
    if (this.#report.mode === 'observe') return
    this.#body = { bytes: encode(mended.json), json: mended.json, members: mended.body }
  }

  #hasSpentBudget(): boolean {
    const { tools, functions } = this.#body.members ?? {}
    const hasTools = listed(tools).length + list(functions).length > 0
    return hasTools && this.#policy.maxTools !== undefined && this.#judge()?.isSpent === true
  }

  /**
   * The judge of the response's calls; `undefined` if the history cannot be read. It is not made before
   * a call is there: most responses have none. A history that cannot be read is read once.
   */
  #judge(): Judge | undefined {
    this.#judgement ??= {
      judge: this.#reportingErrors(() => {
        const history = this.#history()
        const schemas = declaredSchemas(this.#body.members)
        const before = this.#remembered && callsOf(this.#remembered)
        const past = this.#wire.turn(history, before)
        // What was made before the user spoke does not count.
        const isSpoken = history.some((element) => this.#wire.isSpoken(object(element)))
        const state = isSpoken ? undefined : this.#remembered?.state
        const remembered = this.#record && { state }
        return new Judge(this.#policy, past, this.#report.repeats, schemas, remembered)
      }),
    }
    return this.#judgement.judge
  }

  /** The calls of a partial history are a part of those of the turn: only its response is judged. */
  #history(): unknown[] {
    const history = this.#body.members?.[this.#wire.history]
    return this.#report.history === 'partial' ? [] : listed(history)
  }

  /** The provider's response; in `bound`, one that can be judged. Failures are reported. */
  async #firstResponse(isForced: boolean): Promise<Response> {
    let response: Response
    try {
      response = await this.#sendBody(isForced)
      if (this.#mayRepair(response)) response = await this.#repairRefused(response, isForced)
    } catch (error) {
      const refusal = this.#exchange.refusalFor(error)
      this.#report.error = refusal.code
      this.#report.status = refusal.status
      this.#end(refusal.status === 499 ? 'cancelled' : 'failed')
      throw refusal
    }
    if (!this.#holds || !response.ok || isAsciiLike(response.headers)) return response
    response.body?.cancel().catch(() => {})
    const { code, message } = foreign()
    this.#report.error = code
    this.#report.status = 502
    this.#end('failed')
    throw new Refusal(502, code, message)
  }

  /** Whether a response may name a fault of the history that is to be repaired. */
  #mayRepair({ status }: Response): boolean {
    // 500: a chat template of llama-server or Ollama.
    const isRefusal = status === 400 || status === 422 || status === 500
    const repairs = this.#exchange.settings.repairOnError && this.#report.mode !== 'observe'
    return isRefusal && repairs === true && this.#body.members !== undefined
  }

  /**
   * Repairs a request that the provider has refused for its history, and sends it once more. A response
   * that names no fault which is repaired passes as it is.
   */
  async #repairRefused(response: Response, isForced: boolean): Promise<Response> {
    const { status, headers, body } = response
    if (!body) return response
    const source = this.#exchange.source(body)
    const { bytes, rest } = await beginning(source, REFUSAL_BYTES)
    const { json } = this.#body
    const repaired = this.#reportingErrors(() =>
      repairRequest(this.#wire.dialect, json, new TextDecoder().decode(bytes)),
    )
    if (!repaired) return new Response(rest, { status, headers })
    source.cancel()
    this.#rewrite(withMember(json, repaired.member, repaired.list))
    const reason = ', because the provider refused the request'
    const repairs = repaired.repairs.map((one) => ({ ...one, detail: one.detail + reason }))
    this.#report.repairs = [...this.#report.repairs, ...repairs]
    return this.#sendBody(isForced)
  }

  #sendBody(isForced: boolean): Promise<Response> {
    return this.#send(isForced ? this.#bodyWithoutTools() : this.#body.bytes)
  }

  #send(body: Uint8Array): Promise<Response> {
    return this.#route.send(body, this.#body.members !== undefined)
  }

  /** The body of a request whose answer is to have no call. */
  #bodyWithoutTools(): Uint8Array {
    const { json, members } = this.#body
    return encode(withMember(json, ...this.#wire.noTools(members ?? {})))
  }

  /** The body of a second response, to the same request without tools; `undefined` if it failed. */
  async #secondBody(): Promise<Source | undefined> {
    const { ok, headers, body } = await this.#send(this.#bodyWithoutTools())
    if (ok && isAsciiLike(headers)) return body ? this.#exchange.source(body) : undefined
    body?.cancel().catch(() => {})
    return undefined
  }

  /** The client's body. What a provider says of a failure passes: clients match its words. */
  #relay(body: ReadableStream<Uint8Array>, isOk: boolean, isForced: boolean) {
    const exchange = this.#exchange
    const { settings, limits, request, context } = exchange
    const { members } = this.#body
    return relayed({
      wire: this.#wire,
      report: this.#report,
      body: exchange.source(body),
      isStream: this.#wire.isStream(members ?? {}, new URL(request.url).pathname),
      isFailure: !isOk,
      // Whether tools are declared or not: a stored prompt may declare them.
      holds: this.#holds && isOk,
      forced: isForced,
      choices: this.#wire.choices(members ?? {}),
      record: this.#record,
      onTerminal: () => this.#remember(),
      most: limits.heldBytes,
      keepAliveMs: limits.keepAliveMs,
      clientGone: settings.clientGone ?? 'stop',
      judge: () => this.#judge(),
      again: () => this.#secondBody(),
      abort: () => exchange.abort(),
      hasLeft: () => request.signal.aborted,
      onLeave: (listener) => exchange.onLeave(listener),
      onEnd: (outcome, error) => this.#end(outcome, error),
      waitUntil: (promise) => context.waitUntil?.(promise),
    })
  }

  /** Stores the response, once, before the client can continue it. */
  #remember(): void {
    const { conversations, limits, context } = this.#exchange
    const made = this.#record?.result
    if (!conversations || !made || this.#isRecorded) return
    this.#isRecorded = true
    const key = [this.#report.tenant, this.#wire.name, made.id] as const
    const stored = conversations.remember(key, made.response, limits.rememberMs)
    const handled = stored.catch((error: unknown) => this.#exchange.reportError(error))
    context.waitUntil?.(handled)
  }

  /** Ends the request: the host gets its report. */
  #end(outcome: ProxyReport['outcome'], error?: unknown): void {
    const { settings, context, began } = this.#exchange
    this.#remember()
    this.#judgement?.judge?.free()
    this.#report.outcome = outcome
    this.#report.ms = Date.now() - began
    if (error !== undefined) this.#exchange.reportError(error)
    const reported = (async () => settings.onReport?.(this.#report))().catch((thrown: unknown) =>
      this.#exchange.reportError(thrown),
    )
    context.waitUntil?.(reported)
  }

  /** The result of `work`. An error in reading a history is reported, and never fails the request. */
  #reportingErrors<T>(work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      this.#report.error ??= isTurnlockError(error) ? error.code : 'proxy.failed'
      this.#exchange.reportError(error)
      return undefined
    }
  }
}

const newReport = (
  mode: ProxyReport['mode'],
  route: ProxyReport['route'],
  tenant: string,
  session: ProxyReport['session'],
): ProxyReport => ({
  mode,
  route,
  tenant,
  session,
  history: 'whole',
  repairs: [],
  calls: [],
  blocked: [],
  repeats: [],
  forced: null,
  usage: [],
  status: 0,
  outcome: 'complete',
  firstByteMs: 0,
  ms: 0,
  bytes: { request: 0, response: 0 },
})

const unread = (bytes: Uint8Array): Body => ({ bytes, json: '', members: undefined })

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
