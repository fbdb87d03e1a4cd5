//! A two-stage turn with one tool, over a plain blocking HTTP client:
//! `BASE_URL=… API_KEY=… MODEL=… cargo run --example blocking "What is in notes.txt?"`
//!
//! What blocks (a response, a tool) has a thread and tells its facts to one channel. The loop
//! drains the turn, then waits for the next fact, no longer than the turn's deadline.
#![cfg_attr(target_arch = "wasm32", no_main)]
#![cfg(not(target_arch = "wasm32"))]

mod http;

use std::hash::{BuildHasher, RandomState};
use std::io::{Write, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use http::{Failure, Provider};
use turnlock::canon::Json;
use turnlock::turn::{Effect, Input, Settled, Turn};

/// A fact on its way to the turn: gives it the input, which may borrow from the fact.
type Fact = Box<dyn FnOnce(&mut dyn FnMut(Input<'_>)) + Send>;

#[expect(clippy::disallowed_methods, reason = "the clock is the host's")]
fn main() -> Result<ExitCode, Failure> {
    let question = Json::from(env::args().nth(1).ok_or("ask something")?).to_text();
    // std keys this hasher with the system's randomness; a server would take `getrandom`.
    let [id, one, two] = [1, 2, 3].map(|n| format!("{:016x}", RandomState::new().hash_one(n)));
    let options = format!(
        r#"{{ "dialect": "openai-chat", "requestId": "{id}", "secret": "{one}{two}",
            "messages": [{{ "role": "user", "content": {question} }}], "tools": [{{
                "name": "read_file", "description": "Reads a file.", "readOnly": true,
                "inputSchema": {{ "type": "object", "required": ["path"],
                    "properties": {{ "path": {{ "type": "string" }} }} }} }}] }}"#
    );
    let mut turn = Turn::new(options.as_bytes())?;
    let provider = Provider::from_env()?;
    let (mut tell, mut facts) = sync_channel::<Fact>(64);
    let clock = Instant::now();
    let now = || u64::try_from(clock.elapsed().as_millis()).unwrap_or(u64::MAX);
    turn.handle(now(), Input::Start);
    loop {
        // Drain before you wait.
        while let Some(effect) = turn.poll() {
            match effect {
                Effect::Fetch { inference, attempt, body } => {
                    let (provider, tell) = (provider.clone(), tell.clone());
                    thread::spawn(move || provider.ask(body, (inference, attempt), &tell));
                }
                // Nobody listens any more: the thread that reads closes its connection. A turn
                // never reads and runs tools at the same time, so no other fact is lost.
                Effect::Abort { .. } => (tell, facts) = sync_channel(64),
                Effect::RunTool { call, name, args, .. } => {
                    eprintln!("{name} {}", args.to_text());
                    let tell = tell.clone();
                    thread::spawn(move || {
                        let settled = read_file(&args);
                        tell.send(Box::new(move |to| to(Input::ToolSettled { call, settled })))
                    });
                }
                Effect::Emit(event) => {
                    write!(stdout(), "{}", event.chunk().unwrap_or_default())?;
                    stdout().flush()?;
                }
                Effect::Done { result } => {
                    writeln!(stdout())?;
                    let Some(error) = result.get("error") else { return Ok(ExitCode::SUCCESS) };
                    eprintln!("{}", error.to_text());
                    return Ok(ExitCode::FAILURE);
                }
                // A thread cannot be cancelled; what it tells too late changes nothing. Checks, a
                // store and traces are not asked for by these options.
                _ => {}
            }
        }
        let wait = turn.next_deadline().unwrap_or(0).saturating_sub(now());
        match facts.recv_timeout(Duration::from_millis(wait)) {
            Ok(fact) => fact(&mut |input| turn.handle(now(), input)),
            Err(_) => turn.handle(now(), Input::Timer),
        }
    }
}

/// The tool. Reads in this folder only, whatever the model says.
fn read_file(args: &Json<'_>) -> Settled {
    let path = args.get("path").and_then(Json::as_str).map(Path::new);
    match fs::read_to_string(path.and_then(Path::file_name).unwrap_or_default()) {
        Ok(text) => {
            let text = Json::from(text).to_text();
            Settled::Ok { bytes: text.len() as u64, text }
        }
        Err(error) => Settled::Error { code: "tool.threw".into(), message: error.to_string() },
    }
}
