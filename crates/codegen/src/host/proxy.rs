//! The proxy in front of a provider.

use super::{Table, table};

pub(super) fn tables() -> Vec<Table> {
    vec![
        table! {
            /// The options of `createProxy`.
            "ProxyOptions<S extends ProxySession = ProxySession>" for "createProxy" {
                /// The provider: its address, or more about it, or a function that tells it from
                /// the session. Nothing that a client sends can change it.
                upstream: "string | Upstream | UpstreamFor<S>" | required;
                /// What the proxy does. `observe`: nothing but report what it would have done.
                /// `repair`: it mends histories that the provider would refuse. `bound`: it also
                /// refuses repeated calls and forces the answer when the budget is spent.
                mode: "'observe' | 'repair' | 'bound'" = "\"observe\"";
                /// When calls are refused.
                policy: "ProxyPolicy" | deep;
                /// Whether a request that the provider refuses for its history (status 400, 422 or 500,
                /// with a text that `explainProviderError` knows) is repaired and sent once more. The text
                /// only selects among the repairs that `normalizeHistory` makes. Never in `observe`.
                repairOnError: "boolean" = "false";
                /// Identifies the client from the request's headers; it must not read the body.
                /// `null`, `undefined` or an exception leads to a 401. A response is sent
                /// unchanged. The session's `mode`, `policy` and `limits` replace those of the
                /// proxy.
                authorize: "(request: Request, env: Environment | undefined): \
                    S | Response | null | undefined | \
                    Promise<S | Response | null | undefined>" | required;
                /// Receives a report of each request that a model answers, when its response has
                /// ended. Its exceptions are ignored. Workers wait for its promise.
                onReport: "(report: ProxyReport): unknown";
                /// Receives the proxy's own errors. What fails in reading or judging never fails a
                /// request in the modes `observe` and `repair`.
                onError: "(error: unknown, request: Request): void";
                /// The path before `/v1/…`.
                basePath: "string" = "\"\"";
                /// The origins whose pages may call.
                cors: "CorsOptions" | deep;
                /// The names under which the proxy is called; other names get 403 `host.denied`.
                hosts: "string[]" = "all";
                /// Names of headers that are sent to the provider although the proxy drops them by
                /// default, such as `x-client-ip` or `helicone-user-id`. Not the client's keys, and
                /// not what is about one connection.
                forwardHeaders: "string[]" = "none";
                /// Limits of requests.
                limits: "ProxyLimits" | deep;
                /// Where the calls of responses are remembered, by tenant and id, for
                /// `limits.rememberMs`. A request that continues one of them (`previous_response_id`,
                /// `thread.previous_message_id`) is then judged by the calls of the whole user turn.
                /// Signatures and hashes are stored, no arguments and no results.
                store: "Store" = "none: such a history is partial";
                /// What happens to a response whose client disconnects: it is cancelled, or read to
                /// its end, so that its usage is known. One that is not watched is cancelled.
                clientGone: "'stop' | 'continue'" = "\"stop\"";
                /// Functions that decode request bodies, by `content-encoding`: for a runtime
                /// without zstd. Each gets the bytes and how many it may give.
                decode: "Record<string, DecodeBody>" = "what the runtime can";
                /// Sends the requests.
                fetch: "Fetch" = "`globalThis.fetch`";
            }
        },
        table! {
            /// More about a provider.
            "Upstream" {
                /// The address, such as `https://api.openai.com/v1`. The client's path stands
                /// behind it; a `/v1` is not doubled.
                url: "string" | required;
                /// The provider's key. It is sent as `x-api-key` if the client asks as Anthropic's
                /// clients do, as `x-goog-api-key` if it asks as Gemini's do, otherwise as a bearer
                /// token. The client's own key is never sent with it.
                apiKey: "string";
                /// Headers that replace those of the client and of the proxy.
                headers: "Record<string, string>";
                /// Whether the client's own key is sent to the provider, where there is no `apiKey`.
                passAuthorization: "boolean" = "false";
            }
        },
        table! {
            /// When the proxy refuses calls.
            "ProxyPolicy" {
                /// Earlier calls of the same name, arguments and result in the current user turn
                /// after which another one is refused.
                maxRepeats: "number" = "2", "from 1";
                /// Calls with results in the current user turn after which the answer is forced.
                maxTools: "number" = "no budget", "from 0";
                /// Calls of the same name and arguments with a result in the current user turn after
                /// which another one is refused, whatever their results. A poll repeats too.
                maxSameCall: "number" = "no limit", "from 1";
                /// Literal beginnings of lines that are left out when results are compared, beside
                /// `Chunk ID:` and `Wall time:` of Codex.
                volatilePrefixes: "string[]" = "[]";
            }
        },
        table! {
            /// The limits of a proxy.
            "ProxyLimits" {
                /// Maximum bytes of the body of a request that is watched, decoded. Others pass,
                /// however long they are.
                ///
                /// Limit | bytes | 413 `request.too_large`; passes where it is not watched
                bodyBytes: "number" = "33554432", "from 1";
                /// Maximum bytes of a response that are held until a call is judged. Calls in a
                /// longer one are withheld, and the answer is requested without calls.
                ///
                /// Limit | bytes | its calls are withheld; `proxy.held_too_long` in the report
                heldBytes: "number" = "8388608", "from 1";
                /// Milliseconds until the provider's response must begin.
                ///
                /// Limit | ms | 504 `model.timeout`
                firstByteMs: "number" = "600000", "1 to 2147483647";
                /// Milliseconds without a byte of the provider's response, on any path, after which
                /// it has failed.
                ///
                /// Limit | ms | the connection breaks; `model.timeout` in the report
                idleMs: "number" = "300000", "1 to 2147483647";
                /// Milliseconds without a byte while a stream is held, before a ping.
                keepAliveMs: "number" = "10000", "1 to 2147483647";
                /// Milliseconds for which the calls of a response are remembered in `store`.
                ///
                /// Limit | ms | a request that continues the response has a partial history
                rememberMs: "number" = "3600000", "1 to 2147483647";
            }
        },
        table! {
            /// The options of `guardFetch`.
            "GuardFetchOptions" for "guardFetch" {
                /// As `mode` of `createProxy`.
                mode: "'observe' | 'repair' | 'bound'" = "\"bound\"";
                /// When calls are refused.
                policy: "ProxyPolicy" | deep;
                /// As `repairOnError` of `createProxy`.
                repairOnError: "boolean" = "true";
                /// Receives a report of each request that a model answers, when its response has
                /// ended. Its exceptions are ignored.
                onReport: "(report: ProxyReport): unknown";
                /// Receives errors of the guard itself.
                onError: "(error: unknown, request: Request): void";
                /// Limits of requests. The time limits are the client's own unless they are given.
                limits: "ProxyLimits" | deep;
            }
        },
    ]
}
