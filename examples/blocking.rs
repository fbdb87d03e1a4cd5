//! A two-stage turn with one tool, over a plain blocking HTTP client:
//! `BASE_URL=… API_KEY=… MODEL=… cargo run --example blocking "What is in notes.txt?"`
#![cfg_attr(target_arch = "wasm32", no_main)]
#![cfg(not(target_arch = "wasm32"))]

use std::hash::{BuildHasher, RandomState};
use std::io::{Read, Write, stdout};
use std::time::{Duration, Instant};
use std::{env, error::Error, fs, path::Path, process::ExitCode, thread};

use turnlock::tool::{Registry, ToolSpec};
use turnlock::turn::{Effect, Input, Settled, Turn, TurnOptions};
use turnlock::{Dialect, Next, json::Json, provider::Request};

#[expect(clippy::disallowed_methods, reason = "the clock is the host's")]
fn main() -> Result<ExitCode, Box<dyn Error>> {
    let question = env::args().nth(1).ok_or("ask something")?;
    // std keys this hasher with the system's randomness; a server would take `getrandom`.
    let [id, one, two] = [1, 2, 3].map(|n| format!("{:016x}", RandomState::new().hash_one(n)));
    let message = Json::object([("role", "user".into()), ("content", question.into())]);
    let tool = ToolSpec::new("read_file").description("Reads a file: { path }.".into());
    let options = TurnOptions::new(Dialect::OpenAiChat, id, one + &two, vec![message])
        .model(Some(env::var("MODEL")?))
        .tools(Registry::new(vec![tool.read_only(true)])?);
    let mut turn = Turn::new(options)?;
    let clock = Instant::now();
    let now = || u64::try_from(clock.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (mut reading, mut bytes) = (None, [0; 8192]);
    turn.handle(now(), Input::Start);
    loop {
        // Perform every effect first. Wait for the next input only when no effect is left.
        let fact = match turn.poll() {
            Next::Effect(Effect::Fetch { inference, attempt, request, .. }) => match ask(request) {
                Ok((status, body, stream)) => {
                    reading = Some((inference, attempt, stream));
                    Input::ResponseHead {
                        inference,
                        attempt,
                        status,
                        retry_after_ms: None,
                        body,
                        hint: None,
                        secrets: Vec::new(),
                    }
                }
                Err(why) => {
                    let message = why.to_string();
                    Input::ResponseFailed { inference, attempt, message, thrown: false, code: None }
                }
            },
            Next::Effect(Effect::RunTool { call, name, args, .. }) => {
                eprintln!("{name} {}", args.to_text());
                Input::ToolSettled { call, settled: read_file(&args) }
            }
            Next::Effect(Effect::Done { result }) => {
                println!();
                let failed = result.error.inspect(|error| eprintln!("{}", error.to_json()));
                return Ok(ExitCode::from(u8::from(failed.is_some())));
            }
            Next::Effect(effect) => {
                match effect {
                    Effect::Abort { .. } => reading = None, // Closes the connection.
                    Effect::Emit(event) => print!("{}", event.chunk().unwrap_or_default()),
                    // The turn waits for the tool, which has settled when it would be cancelled.
                    Effect::CancelTool { .. } => {}
                    _ => {} // These options ask for no checks, store or traces.
                }
                stdout().flush()?;
                continue;
            }
            Next::Wait { until } => {
                let read = reading.as_mut().map(|(n, m, body)| (*n, *m, body.read(&mut bytes)));
                reading = reading.filter(|_| matches!(read, Some((.., Ok(1..)))));
                match read {
                    Some((inference, attempt, Ok(length @ 1..))) => {
                        let bytes = bytes.get(..length).unwrap_or_default().to_vec();
                        Input::ResponseBytes { inference, attempt, bytes }
                    }
                    Some((inference, attempt, Ok(_))) => {
                        Input::ResponseEnded { inference, attempt }
                    }
                    Some((inference, attempt, Err(_))) => {
                        let message = "the connection broke".to_owned();
                        Input::ResponseFailed {
                            inference,
                            attempt,
                            message,
                            thrown: false,
                            code: None,
                        }
                    }
                    None => {
                        // To ask once more.
                        let wait = until.unwrap_or(0).saturating_sub(now());
                        thread::sleep(Duration::from_millis(wait));
                        Input::Timer
                    }
                }
            }
        };
        turn.handle(now(), fact);
    }
}

/// The status of a response, with the words of a refusal, and its body.
fn ask(request: Request<'_>) -> Result<(u16, String, impl Read), Box<dyn Error>> {
    // One thread cannot wait for bytes and for a deadline: the client's own time-out ends a read.
    let agent = ureq::Agent::config_builder().timeout_per_read(Some(Duration::from_secs(60)));
    let agent = agent.http_status_as_error(false).build().new_agent();
    let mut post = agent.post(env::var("BASE_URL")? + &request.path);
    for (name, value) in request.headers {
        post = post.header(name, value);
    }
    let post = post.header("authorization", format!("Bearer {}", env::var("API_KEY")?));
    let mut response = post.send(request.body.to_text())?;
    let refusal = (!response.status().is_success()).then(|| response.body_mut().read_to_string());
    let (status, words) = (response.status().as_u16(), refusal.transpose()?.unwrap_or_default());
    Ok((status, words, response.into_body().into_reader()))
}

/// The tool. Reads in this folder only, whatever the model says.
fn read_file(args: &Json<'_>) -> Settled {
    let path = args.get("path").and_then(Json::as_str).map(Path::new);
    let read = fs::read_to_string(path.and_then(Path::file_name).unwrap_or_default());
    match read.map(|text| Json::from(text).to_text()) {
        Ok(text) => Settled::Ok { bytes: text.len() as u64, text },
        Err(error) => Settled::Error { code: "tool.threw".into(), message: error.to_string() },
    }
}
