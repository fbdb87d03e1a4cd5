//! Watches a response that a proxy passes on, and withholds its calls until they are judged.
//!
//! [`Decoder`](crate::stream::Decoder) reads what the host itself runs: one reading, and a call of
//! which anything is doubtful never ends. A proxy does not know its client. So this reads what *any*
//! client may run: each reading of the pieces of a call, members in any case and in places where
//! the API has none, events by their name and by their type. A call passes if each of its readings
//! may run.
//!
//! Bytes go in as whole frames, and bytes come out: what is not written anew is as it was. A
//! [`Gate`] performs no effect. It tells what it found as [`Fact`]s, and waits for a verdict where
//! one decides what follows.

mod call;
mod chat;
mod foreign;
mod frame;
mod gate;
mod gemini;
mod messages;
mod open;
mod pieces;
mod responses;
mod rows;
mod scan;
mod step;
mod stray;
mod terminal;
mod tree;
mod whole;
mod wire;

pub use call::Call;
pub use gate::{Failure, Gate, GateOptions, Progress};
pub use step::{Fact, Reason};
pub use whole::Whole;
pub use wire::Wire;
