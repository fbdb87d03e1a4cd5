// npm run bench [-- part …] [--quick] [--json]: the benchmarks, one after the other, and what they print
// into BENCHMARKS.md, each between its markers, with the machine that it ran on. `--quick`: one round
// each, and nothing is written.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(import.meta.dirname, '..')

/** Name → the script and its arguments. Those of `ON_DEMAND` run only by their name. */
export const PARTS = {
  streams: ['stream'],
  wires: ['wires'],
  histories: ['histories'],
  bundles: ['bundle'],
  chains: ['chain'],
  redactor: ['redact'],
  proxy: ['proxy'],
  stores: ['stores'],
  cold: ['cold'],
  page: ['page'],
  rust: ['rust'],
  turns: ['many'],
  replay: ['replay'],
  peers: ['peers'],
  package: ['package'],
  million: ['soak', 'node', '1000000'],
  plans: ['native', 'makespan'],
  accuracy: ['native', 'classify'],
  soak: ['soak', 'memory,redis'],
  kills: ['kills'],
}
export const ON_DEMAND = ['million', 'soak', 'kills']

/** The parts of these names; no name: all but those on demand. Throws for another name. */
export function choose(names) {
  const unknown = names.filter((name) => !Object.hasOwn(PARTS, name))
  if (unknown.length) {
    const all = Object.keys(PARTS).join(', ')
    throw new Error(`no part is called ${unknown.join(', ')}; there are ${all}`)
  }
  const all = Object.keys(PARTS).filter((name) => !ON_DEMAND.includes(name))
  return names.length ? names : all
}

/** The text with what a part printed between its markers. Throws where it has none. */
export function written(text, name, printed, machine) {
  const [begin, end] = [`<!-- bench ${name} -->`, `<!-- /bench ${name} -->`]
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`BENCHMARKS.md has no place for ${name}`)
  // What a build says of its progress is no result.
  const said = printed.replace(/^(?:… .*|.*: done \(\d+ s\))\n/gm, '').trim()
  // A table is Markdown; everything else stays as it was printed.
  const shown = /^\|/m.test(said) ? said : `\`\`\`text\n${said}\n\`\`\``
  const middle = `\n\n*${machine}*\n\n${shown}\n\n`
  return text.slice(0, from + begin.length) + middle + text.slice(to)
}

/** Where and when it ran. */
function machine() {
  const [{ model }] = cpus()
  const rustc = spawnSync('rustc', ['--version'], { encoding: 'utf8' }).stdout?.split(' ')[1]
  const now = new Date().toISOString().slice(0, 10)
  const load = loadavg()[0].toFixed(1)
  const about = model.trim() && model.trim() !== 'unknown' ? `${model.trim()}, ` : ''
  return `${now}: ${about}${cpus().length} cores, load ${load} before it, Node ${process.versions.node}, Rust ${rustc}`
}

function run(name, quick) {
  const [script, ...args] = PARTS[name]
  const env = quick ? { ...process.env, ROUNDS: '1', SECONDS: '1' } : process.env
  const file = join(root, 'benches', `${script}.mjs`)
  const ended = spawnSync(process.execPath, ['--expose-gc', file, ...args], {
    cwd: root,
    env,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (ended.status !== 0) throw new Error(`${name} ended with ${ended.status}\n${ended.stdout}`)
  return ended.stdout
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const given = process.argv.slice(2)
  const [quick, json] = ['--quick', '--json'].map((flag) => given.includes(flag))
  const file = join(root, 'BENCHMARKS.md')
  const told = {}
  for (const name of choose(given.filter((word) => !word.startsWith('--')))) {
    const where = machine()
    const printed = run(name, quick)
    told[name] = { machine: where, printed }
    if (!json) console.log(`${name} (${where})\n\n${printed}`)
    // After each: one that fails loses nothing of the others.
    if (!quick) writeFileSync(file, written(readFileSync(file, 'utf8'), name, printed, where))
  }
  if (json) console.log(JSON.stringify(told, null, 2))
}
