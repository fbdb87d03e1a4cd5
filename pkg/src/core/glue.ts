/** The functions of `crates/wasm`, by part. Returned texts that begin with `!` are errors. */

export interface SignatureGlue {
  canonicalize(json: Uint8Array): string
  signature(call: Uint8Array): string
}

/** The call guard, and what signs its calls. */
export interface GuardGlue extends SignatureGlue {
  guard_new(options: Uint8Array): string
  guard_record(handle: number, past: Uint8Array): string
  guard_fit(handle: number, tool: string, args: Uint8Array): string
  guard_judge(handle: number, call: Uint8Array): string
  guard_settle(handle: number, call: Uint8Array, outcome: Uint8Array): string
  guard_begin(handle: number, next: Uint8Array): string
  guard_is_open(handle: number): string
  guard_state(handle: number): string
  guard_free(handle: number): void
  guard_notice(given: Uint8Array): string
}

export interface ToolsGlue {
  diagnose_tools(given: Uint8Array): string
}

/** Responses that a proxy passes on. */
export interface ProxyGlue {
  gate_new(
    wire: string,
    holds: boolean,
    forced: boolean,
    heldBytes: number,
    choices: number,
  ): string
  gate_push(handle: number, bytes: Uint8Array): string
  gate_pass(handle: number, bytes: Uint8Array, areFrames: boolean): string
  gate_verdicts(handle: number, verdicts: string, hasResults: boolean): string
  gate_end(handle: number): string
  gate_give_up(handle: number): string
  gate_again(handle: number): string
  gate_without_answer(handle: number): string
  gate_take(handle: number): Uint8Array
  gate_whole(handle: number, bytes: Uint8Array, isSecond: boolean): string
  gate_without(handle: number, number: number, refused: Uint32Array, reason: string): string
  gate_free(handle: number): void
}

export interface StreamGlue {
  stream_new(dialect: string): string
  stream_feed(handle: number, bytes: Uint8Array): string
  stream_end(handle: number): string
  stream_free(handle: number): void
}

/** What drives a turn or a tool-request pass. */
export interface DrivenGlue {
  turn_handle(handle: number, nowMs: number, input: Uint8Array): string
  turn_bytes(
    handle: number,
    nowMs: number,
    inference: number,
    attempt: number,
    bytes: Uint8Array,
  ): string
  turn_deadline(handle: number): number
  turn_free(handle: number): void
}

export interface TurnGlue extends DrivenGlue {
  turn_new(options: Uint8Array): string
}

/** Turns that are kept in a store. */
export interface DurableGlue extends TurnGlue {
  turn_restore(options: Uint8Array): string
  turn_demote(messages: Uint8Array): string
}

export interface PlanningGlue extends DrivenGlue {
  request_new(options: Uint8Array): string
}

export interface HistoryGlue {
  history_normalize(options: Uint8Array, tape: Uint32Array, text: Uint8Array): Uint8Array
  history_diagnose(options: Uint8Array, tape: Uint32Array, text: Uint8Array): Uint8Array
  history_turns(options: Uint8Array, tape: Uint32Array, text: Uint8Array): string
  history_new(options: Uint8Array): string
  history_append(handle: number, tape: Uint32Array, text: Uint8Array): string
  history_update(handle: number): Uint8Array
  history_free(handle: number): void
  history_repair(dialect: Uint8Array, body: Uint8Array, refusal: Uint8Array): string
  thread_id(conversationId: Uint8Array, namespace: Uint8Array): string
  explain_provider_error(refusal: Uint8Array): string
}

/** The reader of models' replies. */
export interface ReplyGlue {
  reply_read(reply: Uint8Array): string
}

export interface EvidenceGlue extends ReplyGlue {
  bundle_new(options: Uint8Array): string
  bundle_handle(handle: number, nowMs: number, input: Uint8Array, data: Uint8Array): string
  bundle_deadline(handle: number): number
  bundle_free(handle: number): void
}

/** The statistics of bundles, without a bundle. */
export interface StatisticsGlue extends ReplyGlue {
  distance(lines: Uint8Array): string
  summarize(lines: Uint8Array): string
  patch_apply(base: Uint8Array, patch: Uint8Array): string
  cite(text: Uint8Array, fields: Uint8Array): string
}

/** What queries and plans need without a chain, and tool requests without a pass. */
export interface PlansGlue {
  request_parse(given: Uint8Array): string
  request_lint(given: Uint8Array): string
  request_inventory(tools: Uint8Array): string
  request_prompts(): string
  classify_query(query: Uint8Array, options: Uint8Array): string
  parse_plan(text: Uint8Array, limits: Uint8Array): string
  chain_learn(request: Uint8Array): string
}

export interface ChainGlue {
  chain_new(options: Uint8Array): string
  chain_handle(handle: number, nowMs: number, input: Uint8Array): string
  chain_deadline(handle: number): number
  chain_free(handle: number): void
}

/** Of every part. */
export interface Glue {
  live_handles(): number
  /** The memory of the instance. */
  readonly memory: WebAssembly.Memory
  /** Only in the test build. */
  trap?(): void
}
