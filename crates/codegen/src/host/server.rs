//! The chat routes of a server.

use super::{Table, table};

pub(super) fn tables() -> Vec<Table> {
    vec![
        table! {
            /// The options of `createHandler`.
            "HandlerOptions<S extends Session = Session>" for "createHandler" {
                /// The model: a client of a provider (`openaiChat`, `anthropic`, …) or `customModel`.
                model: "PerRequest<Model, S>" | required;
                /// Models that are asked when `model` has failed, see `runTurn`. Not with the strategy
                /// `thread`.
                fallbacks: "PerRequest<Model[], S>" = "[]";
                /// `thread`: the model keeps the conversation, see `runTurn`. Every request then needs a
                /// `conversationId`; one without it gets 400 `request.invalid`.
                strategy: "'reconstruct' | 'thread'" = "\"reconstruct\"";
                /// With the strategy `thread` and the Responses API: returns `responseId` of the last
                /// turn of the conversation, as `onEnd` got it in its result.
                previousResponseId: "PreviousResponseId<S>";
                /// The tools by name.
                tools: "PerRequest<Record<string, Tool>, S>" = "{}";
                /// The store of the turns. All instances of the handler must share it.
                store: "PerRequest<Store, S>" | required;
                /// Identifies the client from the request's headers; it must not read the body.
                /// `null`, `undefined` or an exception leads to a 401. A response is sent
                /// unchanged. `route` is the name of the route that was called.
                authorize: "(request: Request, env: Environment | undefined, route: RouteName): \
                    S | Response | null | undefined | \
                    Promise<S | Response | null | undefined>" | required;
                /// The switches of the two-stage route. The environment can change them without a
                /// rebuild.
                twoStage: "TwoStageSwitches | TwoStageCallback" | deep;
                /// The policy of every turn. Requests can set `maxTools`, up to
                /// `twoStage.maxTools`, `actionTools` among `twoStage.actionTools`, and
                /// `pauseAfterTools`.
                policy: "Policy" | deep;
                /// A system prompt before the history of every turn.
                system: "string | ((request: Request, session: S) => string | Promise<string>)";
                /// The schema of every answer, see `runTurn`: `object` of the event `complete`.
                answerSchema: "JsonSchema | StandardSchema";
                /// Makes the body of a new turn (`{ messages, projectId?, policy?, … }`) of the JSON of a
                /// request, which is untrusted, for clients with bodies of their own. The returned
                /// body is checked and bounded as a client's; with `format`, it is a body of the
                /// format. A response is sent unchanged. An exception is 400 `request.invalid` for
                /// the client and goes to `onError`. Other routes have their own bodies.
                readBody: "ReadBody<S>";
                /// Prepares the history of a turn: adds a system prompt, or removes messages of the
                /// client. `about` names the turn and its conversation.
                prepare: "Prepare<S>";
                /// Whether messages of a client may instruct the model. If not, its `system` and
                /// `developer` messages, in any shape that `normalizeHistory` reads, become messages of the
                /// user before `prepare` gets them, items that declare tools are left out, and what
                /// replaces the history replaces the client's messages only.
                trustSystem: "boolean" = "false";
                /// How much of a turn is stored, and for how long.
                keep: "Keep" | deep;
                /// The origins that may call.
                cors: "CorsOptions" | deep;
                /// The names under which the handler is called, such as `app.example` or
                /// `localhost:8080`; other names get 403 `host.denied`. A page of another site can
                /// make its own name lead to a server in the user's network (DNS rebinding), and is
                /// then of the same origin.
                hosts: "string[]" = "all";
                /// Limits of requests and of running turns.
                limits: "ServerLimits" | deep;
                /// Tool-request passes by name, served at `POST …/passes/:name`. Each function gets
                /// the JSON object of the body, which is untrusted, and starts a pass with options
                /// of its own. The client gets its events; their last one has the plan. A pass, as
                /// every run, is cancelled when its client leaves, and counts as a running turn.
                passes: "Passes<S>";
                /// Evidence bundles by name, served at `POST …/bundles/:name`; see `passes`.
                bundles: "Bundles<S>";
                /// Chains by name, served at `POST …/chains/:name`; see `passes`.
                chains: "Chains<S>";
                /// Where the trace events of `passes` are kept, for `GET …/agents/events`.
                passEvents: "PerRequest<PassEvents, S>"
                    = "`memoryPassEvents()`: in the memory of this process or isolate";
                /// The path before those of the routes.
                basePath: "string" = "\"/api/chat\"";
                /// What happens to a turn whose client disconnects: it continues and can be
                /// followed again, or it is cancelled.
                clientGone: "'continue' | 'stop'" = "\"continue\"";
                /// Redacts what clients get of turns, passes, bundles and chains, in every format, and
                /// where a client attaches again, and the names and ids that `onTrace` receives.
                /// `onEvent`, `onEnd` and the store have all; `onEvent` gets the redactor, too.
                redact: "PerRequest<Redactor, S>";
                /// The stream of turns, and the bodies that start them: those of `useChat` of the AI
                /// SDK (`turnlock/ai-sdk`), or those of AG-UI (`turnlock/ag-ui`).
                format: "FormatName" = "the package's own";
                /// Receives the trace events of every turn. Its exceptions are ignored.
                onTrace: "(event: TraceEvent, session: S): void";
                /// Whether trace events of turns are stored and served, at `GET …/:requestId/trace` and
                /// `GET …/traces`. Only the tenant of a turn gets its trace. `true`:
                /// `{ content: false, store: memoryTraces() }`.
                traces: "boolean | TracesOptions<S>" | deep = "false";
                /// Receives every event of every turn that runs here, also when its client has left.
                /// Its exceptions are ignored.
                onEvent: "(event: TurnEvent, about: EventOf): void";
                /// Is called at most once for each turn that ends here, also when its client has
                /// left; not for a turn that can be resumed, because it paused or its model failed.
                /// `messages` is the history that the turn began with; `result.messages` is what it
                /// adds. A crash may lose the call, the store loses nothing. Workers wait for its
                /// promise; what it throws goes to `onError`.
                onEnd: "(result: TurnResult, about: EndOf): unknown";
                /// Receives server errors, including those of models and stores. Clients get no
                /// details.
                onError: "(error: unknown, request: Request): void";
            }
        },
        table! {
            /// The switches of the two-stage route, as values.
            "TwoStageValues" {
                /// If false, the two-stage route responds with 404 `route.disabled`.
                enabled: "boolean" = "true";
                /// Whether `POST {basePath}` is the two-stage route (if it is enabled) or the
                /// unified one.
                default: "boolean" = "true";
                /// Maximum and default of the tool calls that a request may ask for. Without it,
                /// `policy.maxTools`.
                maxTools: "number" = "1", "0 to 999";
                /// The tools that a request may ask for in its answer phase (`policy.actionTools`),
                /// and that it has unless it or the handler's `policy.actionTools` names fewer.
                /// Names of tools, `readOnly`, `*`, or an empty list for none. Without it,
                /// `policy.actionTools`.
                actionTools: "readonly string[] | 'readOnly' | '*'" = "none";
            }
        },
        table! {
            /// The switches of the two-stage route. They may name request headers that override
            /// everything else. Use this only behind a gateway that sets or removes these headers
            /// on every request.
            "TwoStageSwitches", extends "TwoStageValues" {
                /// The names of the headers.
                headers: "TwoStageHeaders" | deep;
            }
        },
        table! {
            /// The names of request headers with the switches of the two-stage route.
            "TwoStageHeaders" {
                /// The header with `enabled`.
                enabled: "string";
                /// The header with `default`.
                default: "string";
                /// The header with `maxTools`.
                maxTools: "string";
                /// The header with `actionTools`.
                actionTools: "string";
            }
        },
        table! {
            /// The origins that may call a handler, and what they may send.
            "CorsOptions" {
                /// Allowed origins, such as `https://app.example`. `"*"`, alone and without
                /// `credentials`, lets every site call. The origin of the request's own URL is
                /// always allowed. Behind a proxy that changes it, list the public origin.
                origins: "readonly string[]" = "[]";
                /// Lets listed origins send cookies.
                credentials: "boolean" = "false";
                /// Seconds for which a browser may cache a preflight response.
                maxAge: "number" = "600";
                /// Request headers besides `content-type`, `authorization`, `last-event-id`.
                headers: "readonly string[]" = "[]";
            }
        },
        table! {
            /// The limits of a server.
            "ServerLimits" {
                /// Maximum bytes of a request's body.
                ///
                /// Limit | bytes | 413 `request.too_large`
                bodyBytes: "number" = "1048576", "from 1";
                /// Maximum messages of a history.
                ///
                /// Limit | messages | 400 `request.invalid`
                messages: "number" = "500", "from 1";
                /// Maximum attempts per minute to resume one turn, per handler instance.
                ///
                /// Limit | attempts | 429 `limit.resumes`
                resumesPerMinute: "number" = "30", "from 1";
                /// Maximum concurrent turns, passes, bundles and chains of one tenant, per handler
                /// instance.
                ///
                /// Limit | turns | 429 `limit.turns`
                turnsPerTenant: "number" = "32", "from 1";
                /// Maximum concurrent readers of the events of one turn, per handler instance.
                ///
                /// Limit | readers | 429 `limit.readers`
                readersPerTurn: "number" = "32", "from 1";
                /// Milliseconds without an event before a `: keep-alive` comment.
                keepAliveMs: "number" = "15000", "from 1";
            }
        },
        table! {
            /// What traces have, and where they are stored.
            "TracesOptions<S extends Session = Session>" {
                /// Whether the trace of a turn has the arguments of its calls although the handler has
                /// no `redact`. With `redact`, it has them redacted. Other values of a call are not
                /// part of a trace.
                content: "boolean" = "false";
                /// Where trace events are stored.
                store: "PerRequest<TraceStore, S>"
                    = "`memoryTraces()`: in the memory of this process or isolate";
            }
        },
        table! {
            /// The options of `memoryTraces`.
            "MemoryTracesOptions" for "memoryTraces" {
                /// Maximum events of one tenant; its oldest one is dropped first. A turn has some ten.
                maxEvents: "number" = "1000", "from 1";
                /// Maximum characters of the events of all tenants. At the limit, the tenant that
                /// has the most loses its oldest event.
                ///
                /// Limit | characters | the oldest event is dropped
                maxCharacters: "number" = "4194304", "from 1";
            }
        },
        table! {
            /// The options of `memoryPassEvents`.
            "MemoryPassEventsOptions" for "memoryPassEvents" {
                /// Maximum events of one tenant; its oldest one is dropped first.
                maxEvents: "number" = "1000", "from 1";
                /// Maximum characters of the events of all tenants. At the limit, the tenant that
                /// has the most loses its oldest event.
                ///
                /// Limit | characters | the oldest event is dropped
                maxCharacters: "number" = "4194304", "from 1";
            }
        },
        table! {
            /// The options of `storePassEvents`.
            "StorePassEventsOptions" for "storePassEvents" {
                /// Maximum events of one tenant; its oldest one is dropped first.
                maxEvents: "number" = "1000", "from 1";
                /// Milliseconds after its last event until a tenant's events expire.
                ttlMs: "number" = "2592000000", "from 1";
            }
        },
        table! {
            /// The options of `toNodeListener`.
            "NodeListenerOptions" for "toNodeListener" {
                /// The protocol of the URLs that the handler receives.
                protocol: "'http' | 'https'" = "that of the connection";
                /// Whether `x-forwarded-proto` and `x-forwarded-host` decide the URLs that the handler
                /// receives. Only behind a proxy that sets both: anybody else can send them too.
                forwarded: "boolean" = "false";
                /// Receives what the function throws, and what breaks its response. The client gets a 500
                /// without a body, or a broken connection where the response has begun.
                onError: "Method<[error: unknown], void>" = "`console.error`";
            }
        },
    ]
}
