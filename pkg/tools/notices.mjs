// Writes THIRD_PARTY_NOTICES: the licences of what the npm package contains of others. `--check` fails
// if it is stale, or if a licence is none of those that deny.toml allows.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { components } from './components.mjs'
import { root } from '../../scripts/setup.mjs'

const all = await components()
const allowed = [...readFileSync(join(root, 'deny.toml'), 'utf8').matchAll(/^ {4}"(.+)",?$/gm)].map(
  ([, name]) => name,
)
for (const { name, licence } of all) {
  const identifiers = licence
    .split(/ OR |\//)
    .some((one) => one.split(' AND ').every((part) => allowed.includes(part.replace(/[()]/g, ''))))
  if (!identifiers)
    throw new Error(`${name}: the licence ${licence} is not one of ${allowed.join(', ')}`)
}

/** Those with the same text stand above it together. */
const texts = new Map()
for (const { name, version, text } of all) {
  const title = version ? `${name} ${version}` : name
  texts.set(text, [...(texts.get(text) ?? []), title])
}
const rule = '-'.repeat(80)
const made = `The npm package turnlock contains code of these projects. The rules of gitleaks have their
licence in the file that holds them (dist/redactor/rules.js).

${[...texts].map(([text, names]) => `${rule}\n${names.join(', ')}\n${rule}\n\n${text}\n`).join('\n')}`

const to = join(root, 'THIRD_PARTY_NOTICES')
if (!process.argv.includes('--check')) {
  writeFileSync(to, made)
} else if (!existsSync(to) || readFileSync(to, 'utf8') !== made) {
  console.log('not ok - THIRD_PARTY_NOTICES is stale: node pkg/tools/notices.mjs writes it')
  process.exitCode = 1
}
console.log(`${all.length} components`)
