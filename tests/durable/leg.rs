//! One owner of a turn: a process, an isolate, a tab. What it is told and what it shows.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;
use turnlock::Next;
use turnlock::turn::{Input, RestoreOptions, Turn, TurnOptions};

/// An input, for people.
pub fn describe(input: &Input) -> String {
    match input {
        Input::ResponseBytes { inference, attempt, bytes } => {
            format!("{} bytes of {inference}/{attempt}", bytes.len())
        }
        other => format!("{other:?}"),
    }
}

/// What somebody wants of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Wish {
    Run,
    /// With what the user says of the calls that wait: signature, approved.
    Resume(Vec<(String, bool)>),
    Cancel,
}

#[derive(Debug)]
pub struct Leg {
    pub turn: usize,
    pub wish: Wish,
    pub owner: String,
    pub secret: String,
    /// The wire of this owner's model.
    pub dialect: &'static str,
    pub machine: Option<Turn>,
    pub alive: bool,
    pub frozen_until: u64,
    pub frozen_for: u64,
    pub slept: bool,
    /// Each process has a clock of its own.
    pub clock: u64,
    pub timer: Option<(u64, u64)>,
    pub began: u64,
    /// Facts of one source stay in order.
    pub lanes: BTreeMap<u64, VecDeque<Input>>,
    pub inference: BTreeMap<u32, u64>,
    /// Call → run.
    pub open: BTreeMap<u32, usize>,
    pub shown: u64,
    /// The `seq` of the last event that counts for the result.
    pub cutoff: u64,
    pub phase: String,
    pub ending: bool,
    /// The terminal event, and whether it is kept.
    pub terminal: Option<(Value, bool)>,
    pub result: Option<Value>,
    /// How the turn stood when it was read: status, and whether it may be taken over.
    pub read: Option<Value>,
    pub found: String,
    pub entitled: bool,
    pub mismatch: bool,
    /// The commit that was sent last.
    pub newest: u64,
    pub deceived: bool,
    /// The life of the turn that was read.
    pub life: usize,
    pub options: String,
    pub tape: Vec<(u64, Input)>,
    /// What it was told, but for what may come only once.
    pub told: Vec<Input>,
    pub effects: Vec<String>,
    /// By inference.
    pub requests: Vec<(u32, Value)>,
}

impl Leg {
    pub fn new(
        turn: usize,
        wish: Wish,
        (owner, secret): (String, String),
        dialect: &'static str,
        now: u64,
    ) -> Self {
        Self {
            turn,
            wish,
            owner,
            secret,
            dialect,
            machine: None,
            alive: true,
            frozen_until: 0,
            frozen_for: 0,
            slept: false,
            clock: 0,
            timer: None,
            began: now,
            lanes: BTreeMap::new(),
            inference: BTreeMap::new(),
            open: BTreeMap::new(),
            shown: 0,
            cutoff: 0,
            phase: String::new(),
            ending: false,
            terminal: None,
            result: None,
            read: None,
            found: String::new(),
            entitled: false,
            mismatch: false,
            newest: 0,
            deceived: false,
            life: 0,
            options: String::new(),
            tape: Vec::new(),
            told: Vec::new(),
            effects: Vec::new(),
            requests: Vec::new(),
        }
    }

    pub fn works(&self) -> bool {
        self.alive && self.result.is_none()
    }

    /// The same facts give the same effects, to the byte.
    pub fn replays(&self) -> Result<(), String> {
        if self.options.is_empty() {
            return Ok(());
        }
        let bytes = self.options.as_bytes();
        let made = if self.wish == Wish::Run {
            TurnOptions::parse(bytes).and_then(Turn::new)
        } else {
            RestoreOptions::parse(bytes).and_then(Turn::restore)
        };
        let mut turn = made.map_err(|error| error.to_string())?;
        let mut effects = Vec::new();
        for (now, fact) in &self.tape {
            turn.handle(*now, fact.clone());
            while let Next::Effect(effect) = turn.poll() {
                effects.push(format!("{effect:?}"));
            }
        }
        if effects == self.effects { Ok(()) } else { Err("a replayed tape differs".to_owned()) }
    }
}
