// The table of docs/providers.md of wires, from what is tested: the clients that the tables are played with, the
// number of plays of each wire in Node, and of recorded responses whose decoding is pinned.
//
//   node docs/tools/wires.mjs [--check]
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { byDialect, CLIENTS } from '../../tests/lanes.mjs'
import { loadRequests, loadScenarios } from '../../tests/provider/scenarios.mjs'
import { CHAT_DIALECTS, PROVIDERS } from '../../pkg/dist/generated/providers.js'
import { root } from '../../scripts/setup.mjs'

const read = (file) => readFileSync(join(root, file), 'utf8')

const snake = (name) => name.replace('openai', 'openai_').toLowerCase().replace(/_$/, '')

function row([wire, client], plays) {
  const constructor = snake(client)
  if (!read('crates/client/src/model.rs').includes(`pub fn ${constructor}(`)) {
    throw new Error(`the Rust driver has no Model::${constructor}`)
  }
  const played = plays.filter(({ dialect }) => dialect === wire).length
  const recorded = JSON.parse(read(`tests/wires/${wire}.json`)).length
  const { path } = PROVIDERS.find(({ dialect }) => dialect === wire)
  const cells = [`\`${wire}\``, `\`${client}\``, `\`Model::${constructor}\``]
  return `| ${[...cells, `\`${path}\``, played, recorded].join(' | ')} |`
}

/** The lines between the marks. */
function table() {
  const tables = [...loadScenarios().values(), ...loadRequests().values()]
  const plays = byDialect('node', tables)
  const [, ...kin] = CHAT_DIALECTS.map((name) => `\`${name}\``)
  return [
    '| wire | client | in Rust | `POST` | plays | recordings |',
    '|---|---|---|---|---|---|',
    ...Object.entries(CLIENTS).map((one) => row(one, plays)),
    '',
    `\`openaiChat\` takes the relatives of its wire by name (\`dialect\`): ${kin.join(', ')}.`,
  ].join('\n')
}

const MARKED = /(<!-- wires -->\n)[^]*?(<!-- \/wires -->)/

const before = read('docs/providers.md')
if (!MARKED.test(before)) throw new Error('docs/providers.md has no place for the table of wires')
const after = before.replace(MARKED, (_, start, end) => `${start}\n${table()}\n\n${end}`)
if (process.argv.includes('--check')) {
  if (after === before) process.exit(0)
  console.log(
    'not ok - docs/providers.md: the table of wires is stale: node docs/tools/wires.mjs writes it',
  )
  process.exit(1)
}
writeFileSync(join(root, 'docs/providers.md'), after)
