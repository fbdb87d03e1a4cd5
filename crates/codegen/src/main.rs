//! `turnlock-codegen [--check]`: writes what is generated from rows. With `--check` it writes
//! nothing, names the files that differ from what it would write, and fails if there are any.
//!
//! The rows are those of the core ([`turnlock::declared`]) and the host tables of [`host`], which
//! declare the options that only the TypeScript side knows.
//!
//! | file | |
//! |---|---|
//! | `pkg/src/generated/<room>.ts` | the declarations |
//! | `pkg/src/generated/rows.ts` | the names of options, for the checks at run time |
//! | `pkg/src/generated/checks.ts` | the values of the core's options, for the checks at run time |
//! | `pkg/src/generated/providers.ts` | what is known of each provider beside its wire format |
//! | `pkg/test/types/options.ts` | a check by the compiler: `undefined` is a value of each option |
//! | `docs/options.md`, `docs/events.md` | the options of each operation, and the events |
//! | `pkg/src/generated/error-codes.ts` | the codes of `docs/errors.md`, as a type |
//! | `docs/limits.md` | the limits, from the comments of constants and the rows of options |

mod checks;
mod core_rows;
mod errors;
mod files;
mod host;
mod limits;
mod markdown;
mod model;
mod names;
mod providers;
mod text;
mod type_test;
mod typescript;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use files::{Files, stale, write};
use model::Model;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(why) => {
            eprintln!("turnlock-codegen: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode, String> {
    let check = match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => return Err("usage: turnlock-codegen [--check]".to_owned()),
    };
    // Set by `cargo run`.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").ok_or("run it with `cargo run`")?;
    let root = PathBuf::from(here).join("../..");
    let files = generated(&root, &host::model()?)?;
    let stale = stale(&root, &files)?;
    if check {
        let page = files::read(&root, errors::PAGE)?;
        let mut mistakes = errors::mistakes(&root, &errors::codes(&page))?;
        let command = "stale, run `cargo run -p turnlock-codegen`";
        mistakes.extend(stale.iter().map(|file| format!("{command}: {file}")));
        for mistake in &mistakes {
            eprintln!("{mistake}");
        }
        return Ok(if mistakes.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    write(&root, &files, &stale)?;
    for file in &stale {
        println!("{file}");
    }
    Ok(ExitCode::SUCCESS)
}

/// All generated files, by their path in the repository.
fn generated(root: &Path, model: &Model) -> Result<Files, String> {
    let mut files = Files::new();
    for room in model.rooms() {
        let path = format!("{}/{room}.ts", files::GENERATED);
        files.insert(path, typescript::declarations(model, room)?);
    }
    files.insert(format!("{}/rows.ts", files::GENERATED), names::rows(model)?);
    let checks = checks::checks(&turnlock::declared())?;
    files.insert(format!("{}/checks.ts", files::GENERATED), checks);
    files.insert(format!("{}/providers.ts", files::GENERATED), providers::providers()?);
    let errors = errors::typescript(&errors::codes(&files::read(root, errors::PAGE)?));
    files.insert(format!("{}/error-codes.ts", files::GENERATED), errors);
    files.insert("pkg/test/types/options.ts".to_owned(), type_test::options(model)?);
    files.insert("docs/options.md".to_owned(), markdown::options(model)?);
    files.insert("docs/limits.md".to_owned(), limits::limits(root, model)?);
    files.insert("docs/events.md".to_owned(), markdown::events(model)?);
    Ok(files)
}
