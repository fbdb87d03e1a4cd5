// Proves what CONTRIBUTING says of additions: adds a provider, a policy field and an effect to a copy
// of the project, as the document says, builds it, writes the generated files, and names every file
// that had to change. A driver that does not know the effect must not compile.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hold, tracked } from '../../scripts/alone.mjs'
import { cargoEnv, root, target } from '../../scripts/setup.mjs'

const copy = join(root, '.cache', 'howto')
/** What the core, its generator, their workspace and the package's types need. */
const NEEDED =
  /^(Cargo\.(toml|lock)|clippy\.toml|src\/|crates\/|scripts\/build\/cores\.mjs|examples\/blocking\.rs|tests\/client\/page\/|tests\/client[^/]*\/[^/]*\.rs$|pkg\/(src\/|package\.json|tsconfig\.json)|docs\/)/

const paths = tracked().filter((file) => NEEDED.test(file))
const files = new Map(paths.map((file) => [file, readFileSync(join(root, file))]))

/** Replaces the only occurrence of a text in a file of the copy. */
function edit(file, from, to) {
  const text = files.get(file).toString()
  assert.equal(text.split(from).length, 2, `${file} must have one "${from}"`)
  files.set(
    file,
    text.replace(from, () => to),
  )
}

const env = { ...cargoEnv, CARGO_TARGET_DIR: join(target, 'howto') }

function cargo(...args) {
  const options = { cwd: copy, env, stdio: ['ignore', 'inherit', 'inherit'] }
  assert.equal(spawnSync('cargo', args, options).status, 0, `cargo ${args.join(' ')}`)
}

/** What a compiler says of a driver; nothing if it has no errors. */
const errorsOf = (command, args) => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: copy, env, encoding: 'utf8' })
  return status === 0 ? '' : stdout + stderr
}
const client = ['check', '--package', 'turnlock-client']
const rustDriver = () => errorsOf('cargo', [...client, '--features', 'tokio', '--locked'])
const typescript = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
const packageDriver = () => errorsOf(process.execPath, [typescript, '-p', 'pkg', '--noEmit'])

// A provider: its folder, and one row.
const like = 'src/provider/groq/'
for (const file of paths.filter((file) => file.startsWith(like))) {
  files.set(file.replace(like, 'src/provider/telex/'), files.get(file))
}
const last = '    ChatTemplate = "chat-template" in chat_template,\n'
edit('src/provider/mod.rs', last, `${last}    /// Telex.\n    Telex = "telex" in telex,\n`)

// A policy field: one row, and where it acts.
const row =
  '        /// Unified mode: maximum inferences in one turn. From 2 on, the last one has no tools.\n'
const field = `        /// Unified mode: inferences after which tools are not executed.
        tool_steps "toolSteps": u32 = 1_000, whole 1..=1_000;
`
edit('src/turn/policy.rs', row, field + row)
const acts = 'src/turn/phase.rs'
edit(acts, '>= policy.max_steps', '>= policy.max_steps.min(policy.tool_steps)')

// An effect: one row, and where it is emitted.
const effects = 'src/turn/protocol.rs'
edit(
  effects,
  '        /// Show an event.\n',
  `        /// Say that a call was slow.
        Slow "slow" {
            /// The call.
            call "call": u32,
        }
        /// Show an event.\n`,
)
const emits = 'src/turn/record/calls/settle.rs'
const timeout = 'record.push(Effect::CancelTool { call, reason: CancelReason::Timeout });'
edit(emits, timeout, `${timeout}\n            record.push(Effect::Slow { call });`)

hold(copy, files)
const core = ['--package', 'turnlock', '--package', 'turnlock-wasm']
cargo('clippy', ...core, '--locked', '--', '-D', 'warnings')
cargo('run', '--package', 'turnlock-codegen', '--locked')
assert.match(rustDriver(), /`&?turnlock::turn::Effect::Slow \{ \.\. \}` not covered/)
assert.match(packageDriver(), /driver\.ts.*"slow"/)

// The effect: one case in each driver.
const drivers = ['crates/client/src/effects.rs', 'pkg/src/driver/driver.ts']
const reread = (file) => files.set(file, readFileSync(join(copy, file)))
for (const file of paths.filter((file) => file.startsWith('pkg/src/generated/'))) reread(file)
for (const file of paths.filter((file) => file.startsWith('docs/'))) reread(file)
edit(
  drivers[0],
  '            Effect::Trace(event) => {\n',
  '            Effect::Slow { .. } => {}\n            Effect::Trace(event) => {\n',
)
edit(
  drivers[1],
  "      case 'trace':\n",
  "      case 'slow':\n        return\n      case 'trace':\n",
)
hold(copy, files)
assert.equal(rustDriver(), '')
assert.equal(packageDriver(), '')

const differs = (file) => !readFileSync(join(root, file)).equals(readFileSync(join(copy, file)))
const changed = paths.filter(differs)
const written = changed.filter((file) => /^(pkg\/src\/generated|docs)\//.test(file))
assert.deepEqual(
  changed.filter((file) => !written.includes(file)),
  [...drivers, 'src/provider/mod.rs', acts, 'src/turn/policy.rs', effects, emits].sort(),
)
const texts = written.map((file) => readFileSync(join(copy, file), 'utf8')).join('')
for (const word of [
  "'telex'",
  'export const TELEX',
  'toolSteps?: number',
  '@defaultValue 1000',
  "type: 'slow'",
]) {
  assert.ok(texts.includes(word), `no generated file has ${word}`)
}
console.log(
  `a provider: its folder and 1 file; a policy field: 2 files; an effect: 2 files and a case in each ` +
    `driver; written: ${written.join(', ')}`,
)
