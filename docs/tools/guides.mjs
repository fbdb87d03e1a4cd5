// Writes code that stands in the repository, and is tested there, into the guides, each behind its
// marker. `--check` fails if one is stale.
//
//   <!-- examples/worker/worker.mjs -->                        a whole file
//   <!-- examples/rust-server/src/main.rs: async fn chat -->   what begins so, of a Rust file
//   <!-- src/turn/mod.rs -->, <!-- src/README.md -->           the first sample of its documentation
import { readFileSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'

const root = join(import.meta.dirname, '../..')
const GUIDES = ['docs/deploy.md', 'docs/rust.md']
const LANGUAGES = { '.mjs': 'javascript', '.js': 'javascript', '.jsonc': 'jsonc' }
const marked = /(<!-- ((?:examples|crates|src)\/[^\s:]+)(?:: (.*?))? -->\n)(?:\n```[^]*?\n```\n)?/g

const isCheck = process.argv.includes('--check')
for (const guide of GUIDES) {
  const path = join(root, guide)
  const before = readFileSync(path, 'utf8')
  const after = before.replace(marked, (_, marker, from, item) => {
    const language = LANGUAGES[extname(from)] ?? 'rust'
    return `${marker}\n\`\`\`${language}\n${codeOf(from, item)}\n\`\`\`\n`
  })
  if (!isCheck) writeFileSync(path, after)
  else if (after !== before) {
    console.log(`not ok - ${guide} is stale: node docs/tools/guides.mjs writes it`)
    process.exitCode = 1
  }
}

function codeOf(from, item) {
  const text = readFileSync(join(root, from), 'utf8').trimEnd()
  const code = item ? itemOf(text, item) : extname(from) in LANGUAGES ? text : sampleOf(text)
  if (!code) throw new Error(`${from} has no ${item ?? 'sample'}`)
  return code
}

/** An item of formatted Rust, to the brace in its own column. */
function itemOf(text, begin) {
  const lines = text.split('\n')
  const first = lines.findIndex((line) => line.trimStart().startsWith(begin))
  if (first < 0) return undefined
  const column = lines[first].search(/\S/)
  const last = lines.indexOf(`${' '.repeat(column)}}`, first)
  return lines
    .slice(first, last + 1)
    .map((line) => line.slice(column))
    .join('\n')
}

/** The first sample of a README or of a module, without the lines that rustdoc hides. */
function sampleOf(text) {
  const blocks = text.replace(/^\/\/! ?/gm, '').matchAll(/^```([\w,]*)\n([^]*?)\n```$/gm)
  const [, , sample] = [...blocks].find(([, kind]) => /^(rust)?(,no_run)?$/.test(kind)) ?? []
  return sample?.replace(/^# .*\n?/gm, '').trimEnd()
}
