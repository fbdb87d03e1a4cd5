//! `providers.ts`: what the package knows of each provider.

use turnlock::Dialect;
use turnlock::provider::ProviderInfo;

use crate::files::NOTICE;
use crate::text::{braced, fits};

const DECLARED: &str = "
/** What is known of a provider beside its wire format. */
export interface ProviderInfo {
  readonly dialect: Dialect
  /** Its name for people. */
  readonly title: string
  /**
   * The function of this package that makes its models; `openaiChat` takes the dialect. Without one,
   * the dialect is only a form of histories.
   */
  readonly client?: string
  /** The address up to the version. `{region}` stands for the region of an account. */
  readonly baseURL?: string
  /** The environment variable in which the provider's own SDK looks for the key. */
  readonly keyVariable?: string
  /** The header of the key. In `authorization` the key is a bearer token. */
  readonly keyHeader: string
  /** Headers of every request beside those of JSON. */
  readonly headers: Readonly<Record<string, string>>
  /** The header, with the value `true`, with which the API answers requests from pages. */
  readonly pageHeader?: string
  /** The path of a request for a stream. `{model}` stands for the model. */
  readonly path: string
  /** The hosts of its API, where a host tells it from others with its paths. */
  readonly hosts: readonly string[]
  /** Ends of paths by which a recorded request is known, whatever its host is. */
  readonly pathEnds: readonly string[]
  /** The names on the way to the member of a body that holds the seed; empty if there is none. */
  readonly seed: readonly string[]
  /** Whether the provider keeps conversations, so that turns may have `strategy: \"thread\"`. */
  readonly threads: boolean
}
";

/// Writes a constant for each provider, the list of all, and the relatives of OpenAI Chat.
pub(crate) fn providers() -> Result<String, String> {
    let mut out = format!("// {NOTICE}\nimport type {{ Dialect }} from './common.js'\n{DECLARED}");
    for dialect in Dialect::ALL {
        let head = format!("export const {}: ProviderInfo =", constant(dialect));
        let text = braced(&head, &members(dialect), "");
        if let Some(long) = text.lines().find(|line| !fits(line)) {
            return Err(format!("{}: too long for a line: {long}", dialect.name()));
        }
        out.push_str(&format!("\n{text}\n"));
    }
    let lines = |all: &[String]| all.iter().map(|one| format!("  {one},\n")).collect::<String>();
    let names: Vec<_> = Dialect::ALL.map(constant).into();
    let head = "/** All providers, in the order of the API. */\n\
                export const PROVIDERS: readonly ProviderInfo[] = ";
    out.push_str(&format!("\n{head}[\n{}]\n", lines(&names)));
    let chat = Dialect::ALL.into_iter().filter(|one| one.info().client == Some("openaiChat"));
    let names: Vec<_> = chat.map(|one| quoted(one.name())).collect();
    let head = "/** The providers whose models `openaiChat` makes. */\n\
                export const CHAT_DIALECTS = ";
    out.push_str(&format!("\n{head}[\n{}] as const\n", lines(&names)));
    out.push_str("export type ChatDialect = (typeof CHAT_DIALECTS)[number]\n");
    Ok(out)
}

fn members(dialect: Dialect) -> Vec<String> {
    let ProviderInfo {
        title,
        client,
        base_url,
        key_variable,
        key_header,
        headers,
        page_header,
        path,
        hosts,
        path_ends,
        seed,
        threads,
        ..
    } = *dialect.info();
    let text = |name: &str, value: &str| Some(format!("{name}: {}", quoted(value)));
    let maybe = |name: &str, value: Option<&str>| value.and_then(|value| text(name, value));
    let list = |name: &str, all: &[&str]| {
        let all: Vec<_> = all.iter().map(|one| quoted(one)).collect();
        Some(format!("{name}: [{}]", all.join(", ")))
    };
    let pairs = |all: &[(&str, &str)]| {
        let all: Vec<_> = all
            .iter()
            .map(|(name, value)| format!("{}: {}", quoted(name), quoted(value)))
            .collect();
        Some(if all.is_empty() {
            "headers: {}".to_owned()
        } else {
            format!("headers: {{ {} }}", all.join(", "))
        })
    };
    [
        text("dialect", dialect.name()),
        text("title", title),
        maybe("client", client),
        maybe("baseURL", base_url),
        maybe("keyVariable", key_variable),
        text("keyHeader", key_header),
        pairs(headers),
        maybe("pageHeader", page_header),
        text("path", path),
        list("hosts", hosts),
        list("pathEnds", path_ends),
        list("seed", seed),
        Some(format!("threads: {threads}")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// `openai-chat` as `OPENAI_CHAT`.
pub(crate) fn constant(dialect: Dialect) -> String {
    dialect.name().replace('-', "_").to_ascii_uppercase()
}

fn quoted(text: &str) -> String {
    format!("'{text}'")
}
