// Writes the whole files of examples into docs/deploy.md, each behind its marker. `--check` fails if
// one is stale.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const guide = join(root, 'docs/deploy.md')
const LANGUAGES = { mjs: 'javascript', js: 'javascript', jsonc: 'jsonc' }

const before = readFileSync(guide, 'utf8')
const marked = /(<!-- (examples\/\S+\.(\w+)) -->\n)(?:\n```[^]*?\n```\n)?/g
const after = before.replace(marked, (_, marker, path, kind) => {
  const text = readFileSync(join(root, path), 'utf8').trimEnd()
  return `${marker}\n\`\`\`${LANGUAGES[kind]}\n${text}\n\`\`\`\n`
})
if (!process.argv.includes('--check')) writeFileSync(guide, after)
else if (after !== before) {
  console.log('not ok - docs/deploy.md is stale: node scripts/deploy.mjs writes it')
  process.exitCode = 1
}
