//! `bindgen <web|no-modules|tests> <file.wasm> <folder> [--keep-names]`: writes `<file>.js` and
//! `<file>_bg.wasm` into the folder, as the `wasm-bindgen` command does with `--target`. `tests` is
//! `web` as its test runner has it: with checks of its own, and without a start.
//!
//! The command itself compiles a web driver and a test runner beside what it is needed for, which
//! takes some minutes; this crate takes a fraction of that.
//!
//! `bindgen deflate <file> <out>`: compresses a file (RFC 1951) as far as the format allows, which
//! is worth its seconds: a page loads the result.

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

const USAGE: &str = "usage: bindgen <web|no-modules|tests> <file.wasm> <folder> [--keep-names], \
                     or: bindgen deflate <file> <out>";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.as_slice() {
        [command, input, out] if command == "deflate" => deflate(input, out),
        args => generate(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("bindgen: {why}");
            ExitCode::FAILURE
        }
    }
}

fn generate(args: &[String]) -> Result<(), String> {
    let (target, input, folder, names) = match args {
        [target, input, folder] => (target, input, folder, false),
        [target, input, folder, flag] if flag == "--keep-names" => (target, input, folder, true),
        _ => return Err(USAGE.into()),
    };
    let mut bindgen = Bindgen::new();
    match target.as_str() {
        "web" => bindgen.web(true),
        "no-modules" => bindgen.no_modules(true),
        "tests" => bindgen.debug(true).emit_start(false).web(true),
        _ => return Err(USAGE.into()),
    }
    .and_then(|bindgen| {
        bindgen
            .input_path(input)
            .typescript(false)
            .remove_name_section(!names)
            .remove_producers_section(!names)
            // A page imports its wasm from beside the glue; the package hands its own over.
            .omit_default_module_path(target == "no-modules")
            .generate(folder)
    })
    .map_err(|error| format!("{error:?}"))
}

fn deflate(input: &str, out: &str) -> Result<(), String> {
    let bytes = std::fs::read(input).map_err(|error| format!("{input}: {error}"))?;
    let mut deflated = Vec::new();
    zopfli::compress(
        zopfli::Options::default(),
        zopfli::Format::Deflate,
        bytes.as_slice(),
        &mut deflated,
    )
    .and_then(|()| std::fs::write(out, deflated))
    .map_err(|error| format!("{out}: {error}"))
}
