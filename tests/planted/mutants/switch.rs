//! Which mutant acts: the one whose number `MUTANT` is. With `MUTANT_REACHED=<file>`, the numbers of
//! those that a run comes by are appended to the file, each once.

use std::fs::File;
use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// Not a number of a mutant: the environment is still to be read, or it asks for the file.
const ASK: u32 = u32::MAX;
const NONE: u32 = 0;

static ACTS: AtomicU32 = AtomicU32::new(ASK);
static REACHED: [AtomicBool; 1 << 14] = [const { AtomicBool::new(false) }; 1 << 14];
static FILE: OnceLock<Option<File>> = OnceLock::new();

#[inline(always)]
pub(crate) fn on(number: u32) -> bool {
    let acts = ACTS.load(Relaxed);
    if acts == ASK { ask(number) } else { acts == number }
}

#[cold]
fn ask(number: u32) -> bool {
    let file = FILE.get_or_init(|| {
        let path = std::env::var_os("MUTANT_REACHED");
        let file = path.map(|path| File::options().append(true).create(true).open(path).unwrap());
        if file.is_none() {
            let acts = std::env::var("MUTANT").ok().and_then(|text| text.parse().ok());
            ACTS.store(acts.unwrap_or(NONE), Relaxed);
        }
        file
    });
    if let Some(mut file) = file.as_ref() {
        if !REACHED[number as usize].swap(true, Relaxed) {
            file.write_all(format!("{number}\n").as_bytes()).unwrap();
        }
        return false;
    }
    ACTS.load(Relaxed) == number
}
