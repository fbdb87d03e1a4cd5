// Every error code of the package and the crates: what causes it, and what to do. `scripts/errors.mjs`
// writes docs/errors.md from it.

/** @type {Record<string, { about: string, codes: Record<string, [cause: string, cure: string]> }>} */
export const AREAS = {
  options: {
    about: 'Misuse. Thrown at the call; the message has the path of the option.',
    codes: {
      'options.invalid': [
        'An option is missing, has another type or is out of range.',
        'Correct the option that the message names; [options](options.md) has types, ranges and defaults.',
      ],
    },
  },
  json: {
    about: 'Texts and values that are not JSON, or JSON that cannot be signed or sent.',
    codes: {
      'json.syntax': [
        'The text is not JSON (RFC 8259).',
        '`details.offset` is the byte at which reading failed.',
      ],
      'json.duplicate_key': [
        'An object has a key twice.',
        'Send each key once: readers disagree about which one counts.',
      ],
      'json.lone_surrogate': [
        'A string has half of a surrogate pair.',
        'Use `toWellFormed()` before the value is signed.',
      ],
      'json.number_range': ['A number is beyond what a double can hold.', 'Send it as a string.'],
      'json.too_deep': ['More than 128 levels.', 'Send a flatter value.'],
      'json.too_large': [
        'The text is longer than the [limit](limits.md) of its operation.',
        'Send less: cut the history with `trimHistory`, or the result with `maxResultBytes`.',
      ],
      'json.not_serializable': [
        'A value has no JSON: a function, a symbol, a cycle, a `bigint`, an exception from `toJSON`.',
        'Pass plain data.',
      ],
    },
  },
  message: {
    about:
      'Histories. Violations of a provider’s rules are not errors: `diagnoseHistory` lists them, `normalizeHistory` repairs them.',
    codes: {
      'message.unknown_shape': [
        'An element of the history has no known shape; `details.index` is its place.',
        'Convert it, or leave out what is no message; `unknown: "drop"` drops elements without a role.',
      ],
      'message.unknown_format': [
        'More than half of the elements of an inspected text have no known shape: `details.unknown` of `details.elements`.',
        'Inspect the request that was sent, or the session file of the agent; [command line](command.md) lists the formats.',
      ],
      'message.too_many_parts': [
        'The history has more parts (texts, calls, images, blocks) than the [limit](limits.md).',
        'Cut it, for example with `trimHistory`.',
      ],
    },
  },
  dialect: {
    about: 'Names of wire formats.',
    codes: {
      'dialect.unknown': ['No dialect has this name.', '[Providers](providers.md) lists them.'],
      'dialect.no_stream': [
        'The dialect exists for histories only (`langchain`).',
        'Decode the stream of the provider behind it.',
      ],
    },
  },
  model: {
    about: 'Requests to a model. What was streamed before the failure stays in `fullContent`.',
    codes: {
      'model.status': [
        'The provider answered with an error; `details.status` is the HTTP status. From a proxy (502): its status is one that no response can have.',
        '401 and 403: the key. 429: wait `details.retryAfterMs`, or add `fallbacks`. 400: the message has the provider’s words and, where one applies, the rule of the history.',
      ],
      'model.empty': [
        'The first response of a turn has no text and no call, after `maxRetries` and `fallbacks`. Reasoning alone, and blanks, are no answer. A response that the provider withheld is not meant: `finishReason` is `content_filter`.',
        'Resume the turn, or run it again. If the message names the output limit, raise it: reasoning counts against it.',
      ],
      'model.stream': [
        'The provider reported an error within its stream, or ended the response with one (such as `error`, `MALFORMED_FUNCTION_CALL`), or the response is a page or a text of a gateway, or not in its wire format, or is beyond a [limit](limits.md).',
        'Check `baseURL` and the client (`openaiChat`, `anthropic`, …); try again.',
      ],
      'model.truncated': [
        'The response ended before the model had finished.',
        'Try again; if a proxy cuts long responses, raise its timeout.',
      ],
      'model.timeout': [
        'No first byte within `modelFirstByteMs`, or silence for `modelIdleMs`.',
        'Raise the limit for slow models, or add `fallbacks`.',
      ],
      'model.unreachable': [
        'The request failed before a response: DNS, TLS, CORS, no network.',
        'In a page, the provider must allow the origin; use a handler or a proxy of your own.',
      ],
      'model.redirected': [
        'The provider’s address answered with a redirect, which is not followed, so that a key does not travel.',
        'Set `baseURL` to the final address.',
      ],
      'model.failed': [
        'The generator of a `customModel`, or the host of a Rust model, threw.',
        'The message has the cause.',
      ],
      'model.script_ended': [
        'In tests: `scriptedModel` or `tapeFetch` has no further response. A turn says `model.failed` or `model.unreachable`.',
        'Add one, or find out why there is one more request.',
      ],
    },
  },
  turn: {
    about: 'Turns, their resumes and their readers.',
    codes: {
      'turn.conflict': [
        'The store already has this `requestId`, the turn has ended or gone on, or another owner has it.',
        'Read the turn with `followTurn`; a new turn needs a new id.',
      ],
      'turn.not_found': [
        'The store has no such turn for this tenant, or it expired (`keep.ttlMs`).',
        'Check id and tenant; begin a new turn.',
      ],
      'turn.cancelled': ['A turn that was stopped is resumed.', 'Begin a new turn.'],
      'turn.timeout': [
        'The turn took longer than `turnMs`.',
        'Raise it, or resume: what was kept stays.',
      ],
      'turn.interrupted': [
        'A reader waits for an owner that is gone.',
        'Call `resumeTurn`, or `POST …/resume` of the handler.',
      ],
      'turn.events_gone': [
        'A reader asks for events that are not kept any longer (`keep`).',
        'Read from the beginning, or from the `paused` or `complete` event.',
      ],
    },
  },
  answer: {
    about: 'Answers with a schema.',
    codes: {
      'answer.invalid': [
        'The answer did not fit `answerSchema`, at the second attempt either.',
        'Simplify the schema, or use another model.',
      ],
    },
  },
  tool: {
    about: 'Tools. Codes within `toolResults` fail the call and not the turn.',
    codes: {
      'tool.invalid_name': [
        'A name has other characters than `A-Z a-z 0-9 _ -`, more than 64, or is taken.',
        'Rename the tool.',
      ],
      'tool.invalid_schema': [
        '`inputSchema` or `answerSchema` is not a valid JSON Schema, or it is a Standard Schema that cannot be converted to JSON Schema (valibot, zod/mini, zod 3, other vendors, types without a JSON form).',
        'Fix the schema at the place in the message, or pass the output of the library’s converter as `jsonSchema`. For dates, use `z.coerce.date()`.',
      ],
      'tool.invalid_arguments': [
        'A resumed call, whose arguments the tool of now does not take. Before a call runs, the event `refused` says `invalid_arguments`.',
        'Resume with the tool that the call was made for.',
      ],
      'tool.threw': [
        'The tool threw, or returned a result of MCP with `isError: true`; `error.message` is its message.',
        'Handle the failure in the tool. A `TurnlockError` keeps its own code.',
      ],
      'tool.timeout': [
        'No result within `timeoutMs`, `toolTimeoutMs` or `toolsTotalMs`.',
        'Raise the limit, or make the tool faster. It is told by its `signal`.',
      ],
      'tool.cancelled': [
        'The turn or pass ended first. Unless the tool is read-only, it is not known whether it had its effect, and the message says so.',
        'Check the effect before the call is made again.',
      ],
      'tool.unserializable': ['The result has no JSON.', 'Return plain data.'],
      'tool.outcome_unknown': [
        'Nobody knows whether the tool took effect: its owner is gone, or its connection broke.',
        'Make it `idempotent` or give it `reconcile`; it does not run again by itself.',
      ],
      'tool.result_dropped': ['Whoever resumed the turn dropped the result.', 'Nothing.'],
      'tool.no_result': [
        '`results` of a resume names a call without a result, or one twice.',
        'Use `toolCallId` from `tool_results`.',
      ],
      'tool.missing': [
        '`approvals` of a resume approves a call whose tool is not in `tools`. Nothing was decided: the turn waits as before.',
        'Give the tool, or refuse the call.',
      ],
      'tool.no_approval': [
        '`approvals` of a resume decides on a call that does not wait.',
        'Use `signature` from the `paused` event.',
      ],
      'tool.no_call': [
        'A page claims a call that does not wait for a page.',
        'Use `toolCallId` of `calls` in the `paused` event.',
      ],
      'tool.no_claim': [
        'A page answers a call that nobody claimed.',
        'Claim it first (`claimCalls`).',
      ],
    },
  },
  request: {
    about: 'Requests to a handler or a proxy, and passes that plan with tools.',
    codes: {
      'request.invalid': [
        'A field of the body is missing or wrong (400); the message has its path.',
        'Correct the field.',
      ],
      'request.json': [
        'The body is not JSON in UTF-8, or has too many values or distinct names for its length (400).',
        'Send `JSON.stringify(…)`; send large data as text, such as base64.',
      ],
      'request.content_type': [
        'The handler expects JSON (415).',
        'Send `content-type: application/json`.',
      ],
      'request.content_encoding': [
        'The proxy cannot read this encoding (415), or the body is not in it (400).',
        'Send the body plain, or as gzip, deflate, br or zstd.',
      ],
      'request.too_large': [
        'The body is longer than `bodyBytes` (413).',
        'Send less, or raise the limit.',
      ],
      'request.path': [
        'The path would leave the upstream’s, or its percent-encoding is not valid UTF-8 (400).',
        'Send a path below the proxy’s, encoded in UTF-8.',
      ],
      'request.upgrade': [
        'A WebSocket was asked for (426).',
        'Use HTTP; the client’s realtime transport does not go through the proxy.',
      ],
      'request.cancelled': [
        'A pass or bundle was cancelled, by its `signal` or `cancel`.',
        'Nothing.',
      ],
    },
  },
  replay: {
    about: 'Recorded passes.',
    codes: {
      'replay.miss': [
        'A call is not in the recording that `replay` plays.',
        'Record again: the input, the prompt or the tools have changed.',
      ],
    },
  },
  plan: {
    about:
      'Plans of a chain or a pass. Those of a chain are told to the model once, then the query takes the simple path.',
    codes: {
      'plan.syntax': [
        'The answer has no JSON with `steps`; the message has the byte and the cause.',
        'Nothing; the planner is asked once more and told why.',
      ],
      'plan.empty': ['The plan has no step.', 'Nothing.'],
      'plan.invalid_step': [
        'A step lacks a member, or has a wrong one.',
        'Nothing; the message has its place.',
      ],
      'plan.invalid_condition': [
        'A `when` is no condition that the core can evaluate.',
        'Nothing, or set `conditions: false` and evaluate it.',
      ],
      'plan.duplicate_step': ['Two steps have one id.', 'Nothing.'],
      'plan.unknown_dependency': ['A step depends on one that does not exist.', 'Nothing.'],
      'plan.cycle': ['Steps depend on one another in a circle.', 'Nothing.'],
      'plan.pattern_not_allowed': [
        'The plan’s pattern is not in `patterns`.',
        'Allow it, or nothing.',
      ],
      'plan.too_many_steps': ['More steps than `maxSteps`.', 'Raise it (64 at most), or nothing.'],
      'plan.too_large': ['The plan is longer than the [limit](limits.md).', 'Nothing.'],
      'plan.failed': [
        'The model’s request for the plan failed; the simple path was taken.',
        'The message has the cause.',
      ],
      'plan.timeout': [
        'The plan did not come within `planMs`; the simple path was taken.',
        'Raise it, or use a faster model for plans.',
      ],
      'plan.missing': [
        'The plan pass of `runPlanning` ended without a plan.',
        'The details have what the model said.',
      ],
      'plan.invalid': [
        'The plan does not fit `planSchema`, or `parsePlan` threw; `details.text` has it.',
        'Simplify the schema, or parse more leniently.',
      ],
    },
  },
  chain: {
    about:
      'Chains. A chain that cannot be run takes the simple path: then these stand in `outcome.fellBack`. What a callback throws has the `code` that it was thrown with, else the callback’s name: `answer.threw`, `search.threw`, `refine.threw`, `synthesize.threw`, and so for each but `plan`, which is `plan.failed` whatever it throws.',
    codes: {
      'chain.over_budget': [
        'The estimated cost of the plan is above the budget.',
        'Raise the budget, or nothing.',
      ],
      'chain.breaker_open': [
        'Too many chains failed: for a while, complex queries take the simple path.',
        'Nothing; look at what failed before.',
      ],
      'chain.no_results': [
        'No search of the plan found anything: every result is empty, or failed.',
        "Look at the results and errors of the steps. `noResults: 'fail'` fails instead of answering without them.",
      ],
      'chain.empty_reference': [
        'A step was skipped, because its query refers to an empty result. An event `warning`.',
        'Nothing; later steps do without it.',
      ],
      'chain.language_uncovered': [
        'The classifier has no words of the language of the query. An event `warning`.',
        'Pass `classify`, or `uncoveredLength` of the classifier.',
      ],
      'chain.timeout': [
        'A step, a refinement or the synthesis took longer than its limit.',
        'Raise the limit.',
      ],
      'chain.invalid_result': [
        'A callback of the chain returned what has no JSON, or not what its name promises: a condition a boolean, a rating a number.',
        'Return what [chains](chains.md) says.',
      ],
      'chain.result_too_large': [
        'What a callback returned is longer than the [limit](limits.md).',
        'Return less.',
      ],
      'chain.too_long': [
        'The answer is longer than a response may be (4 MiB).',
        'Ask for a shorter one.',
      ],
      'chain.cancelled': ['The chain was cancelled.', 'Nothing.'],
    },
  },
  store: {
    about: 'Stores. The turn ends with it; what was stored before can be resumed.',
    codes: {
      'store.unavailable': [
        'The store failed; the message has its words.',
        'Try to resume when it works again.',
      ],
      'store.timeout': ['The store did not answer.', 'Try to resume.'],
      'store.closed': ['The connection was closed.', 'Open it again, and resume.'],
      'store.denied': [
        'The store may not be used: wrong password, missing right, no storage for this page.',
        'Correct the right.',
      ],
      'store.quota': [
        'The store has no space.',
        'Delete old turns, lower `keep`, or raise the quota.',
      ],
      'store.full': [
        '`memoryStore` has `maxTurns` turns that are running, or `maxCharacters`.',
        'Raise the limit, or use another store.',
      ],
      'store.blocked': [
        'Another page holds an older version of the database.',
        'Close the other pages of the site.',
      ],
      'store.version': [
        'A newer version of the package wrote the database or the turn.',
        'Reload the page; deploy one version.',
      ],
      'store.unsupported': [
        'A Workers KV namespace, or a Durable Object without SQLite.',
        'Use D1, a Durable Object with SQLite, Redis or Postgres.',
      ],
      'store.record_exists': [
        'A store of your own received a record twice.',
        'Only seen with a broken store: run `storeConformance`.',
      ],
    },
  },
  limit: {
    about: 'A handler’s limits (429, with `retry-after`).',
    codes: {
      'limit.turns': ['The tenant has `turnsPerTenant` turns running.', 'Wait, or raise it.'],
      'limit.readers': ['The turn has `readersPerTurn` readers.', 'Close one.'],
      'limit.resumes': ['More than `resumesPerMinute` attempts.', 'Wait.'],
    },
  },
  route: {
    about: 'Paths of a handler or a proxy.',
    codes: {
      'route.not_found': [
        'There is no such path (404).',
        '[Serve](serve.md) lists them; check where the handler is mounted.',
      ],
      'route.method': [
        'The path exists, for another method (405, with `allow`).',
        'Use that method.',
      ],
      'route.disabled': [
        'The two-stage route is switched off (404).',
        'Use the unified route, or switch it on.',
      ],
    },
  },
  auth: {
    about: 'Access.',
    codes: {
      'auth.required': ['`authorize` refused the request (401).', 'Log in, or send the token.'],
    },
  },
  origin: {
    about: 'Access.',
    codes: { 'origin.denied': ['The page’s origin is not in `cors.origins` (403).', 'Add it.'] },
  },
  host: {
    about: 'Access.',
    codes: {
      'host.denied': [
        'The server was called by a name that is not in `hosts` (403).',
        'Add it; for `turnlock proxy`, with `--allow-host`.',
      ],
    },
  },
  client: {
    about: 'Clients of a handler or a proxy.',
    codes: {
      'client.left': ['The client closed the connection (499, which only logs see).', 'Nothing.'],
    },
  },
  server: {
    about: 'Handlers.',
    codes: {
      'server.failed': [
        'A callback of the handler threw (500).',
        '`onError` is given the cause; the client is not.',
      ],
    },
  },
  proxy: {
    about: 'The proxy.',
    codes: {
      'proxy.failed': [
        'A callback of the proxy, or the proxy itself, failed (500).',
        'The report’s `error` and the server’s log have the cause.',
      ],
      'proxy.call_form': [
        '`bound` left out a call that stood where its wire has none, or what could not be read and named one. In reports, and in place of a whole response that cannot be read.',
        'Look at what the provider sends.',
      ],
      'proxy.held_too_long': [
        'A response was longer than `heldBytes` before its calls could be judged. `bound` withheld them and requested the answer without calls; if that response is too long as well, this error stands in its place. In reports of the other modes, a response that was not read.',
        'Raise the limit.',
      ],
      'proxy.response_format': [
        'The provider’s response is not in the format of the API, or not in UTF-8, so that clients differ in the calls that they read. `bound` refuses it (502, or an error in the response).',
        'Look at what the provider sends, and at `content-type`; use `repair` or `observe` for a provider with a format of its own.',
      ],
    },
  },
  remote: {
    about: '`turnlock/remote`: turns of a handler.',
    codes: {
      'remote.unreachable': [
        'The handler was not reached in `maxRetries` attempts.',
        'Check the address and the network; `follow` goes on.',
      ],
      'remote.invalid': [
        'What answered is no handler of Turnlock.',
        'Check the address: a login page or a router may answer in its place.',
      ],
    },
  },
  mcp: {
    about: '`turnlock/mcp`.',
    codes: {
      'mcp.drift': [
        'A tool of the server is not what it was when its fingerprint was taken.',
        'Look at the change; take the new fingerprint.',
      ],
      'mcp.invalid_definition': [
        'A tool of the server has no name, or shares it with another tool. It is in `skipped`; the other tools are offered.',
        'Report it to the author of the server.',
      ],
    },
  },
  chat: {
    about: '`turnlock/chat`, `turnlock/react`.',
    codes: {
      'chat.failed': ['Something without a code of its own failed.', 'The message has the cause.'],
    },
  },
  core: {
    about: 'The WebAssembly core.',
    codes: {
      'core.unavailable': [
        'The runtime has no WebAssembly, or forbids it.',
        'A content security policy needs `wasm-unsafe-eval` in `script-src`: [sizes and loading](sizes.md).',
      ],
      'core.load': [
        'The core’s file could not be fetched or compiled.',
        'Serve `turnlock.wasm` with the page, or use the embedded core.',
      ],
      'core.not_loaded': [
        'A synchronous operation was called before `init()`, with `turnlock/slim`.',
        'Call and await `init()` first.',
      ],
      'core.fault': [
        'The core trapped: memory, stack, or a bug. Turns of that instance ended; others go on in a fresh one.',
        'If it is not an input of gigabytes, please report it.',
      ],
      'core.stale_handle': [
        'An object was used after it was freed.',
        'Keep it as long as it is used.',
      ],
    },
  },
}
