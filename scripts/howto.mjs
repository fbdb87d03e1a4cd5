// Proves what CONTRIBUTING says of additions: adds a provider and a policy field to a copy of the
// project, as the document says, builds it, writes the generated files, and names every file that
// had to change.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hold, tracked } from './alone.mjs'
import { cargoEnv, root, target } from './setup.mjs'

const copy = join(root, '.cache', 'howto')
/** What the core, its generator and their workspace need. */
const NEEDED =
  /^(Cargo\.(toml|lock)|clippy\.toml|src\/|crates\/|examples\/blocking\.rs|tests\/client\/page\/|tests\/client[^/]*\/[^/]*\.rs$|pkg\/src\/generated\/|docs\/)/

const given = tracked().filter((file) => NEEDED.test(file))
const files = new Map(given.map((file) => [file, readFileSync(join(root, file))]))

/** Replaces the only occurrence of a text in a file of the copy. */
function edit(file, from, to) {
  const text = files.get(file).toString()
  assert.equal(text.split(from).length, 2, `${file} must have one "${from}"`)
  files.set(
    file,
    text.replace(from, () => to),
  )
}

function cargo(...args) {
  const env = { ...cargoEnv, CARGO_TARGET_DIR: join(target, 'howto') }
  const options = { cwd: copy, env, stdio: ['ignore', 'inherit', 'inherit'] }
  assert.equal(spawnSync('cargo', args, options).status, 0, `cargo ${args.join(' ')}`)
}

// A provider: its folder, and one row.
const like = 'src/provider/groq/'
for (const file of given.filter((file) => file.startsWith(like))) {
  files.set(file.replace(like, 'src/provider/telex/'), files.get(file))
}
const last = '    ChatTemplate = "chat-template" in chat_template,\n'
edit('src/provider/mod.rs', last, `${last}    /// Telex.\n    Telex = "telex" in telex,\n`)

// A policy field: one row, and where it acts.
const row = '        /// Unified mode: maximum inferences in one turn.\n'
const field = `        /// Unified mode: inferences after which tools are not executed.
        tool_steps "toolSteps": u32 = 1_000, whole 1..=1_000;
`
edit('src/turn/policy.rs', row, field + row)
const acts = 'src/turn/phase.rs'
edit(acts, '>= policy.max_steps', '>= policy.max_steps.min(policy.tool_steps)')

hold(copy, files)
const core = ['--package', 'turnlock']
cargo('clippy', ...core, '--locked', '--', '-D', 'warnings')
cargo('run', '--package', 'turnlock-codegen', '--locked')

const differs = (file) => !readFileSync(join(root, file)).equals(readFileSync(join(copy, file)))
const changed = given.filter(differs)
const written = changed.filter((file) => /^(pkg\/src\/generated|docs)\//.test(file))
assert.deepEqual(
  changed.filter((file) => !written.includes(file)),
  ['src/provider/mod.rs', acts, 'src/turn/policy.rs'],
)
const texts = written.map((file) => readFileSync(join(copy, file), 'utf8')).join('')
for (const word of ["'telex'", 'toolSteps?: number', '@defaultValue 1000']) {
  assert.ok(texts.includes(word), `no generated file has ${word}`)
}
console.log(
  `a provider: its folder and 1 file; a policy field: 2 files; written: ${written.join(', ')}`,
)
