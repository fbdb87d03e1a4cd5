// Checks that every test which SECURITY.md names exists: a file in backticks, and behind it the names
// of its tests in backticks. Every threat T1 to T23 has a test or is said to be open.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './setup.mjs'

const THREATS = Array.from({ length: 23 }, (_, at) => `T${at + 1}`)
const FILE = /^[\w.-]+(\/[\w.-]+)+\.(mjs|rs)$/

/** The tests that a text names, as pairs of a file and a name. */
function namedIn(text) {
  const named = []
  let file
  for (const [, word] of text.matchAll(/`([^`\n]+)`/g)) {
    if (FILE.test(word)) named.push([(file = word), undefined])
    else if (file) named.push([file, word])
  }
  return named
}

/** What is wrong with a table of threats. `read` gives the text of a file, or throws. */
export function mistakes(text, read) {
  const wrong = []
  const rows = text.split('\n').filter((line) => line.startsWith('| '))
  for (const row of rows) {
    for (const [file, name] of namedIn(row)) {
      let code
      try {
        code = read(file)
      } catch {
        wrong.push(`${file} does not exist`)
        continue
      }
      if (name === undefined) continue
      const has = file.endsWith('.rs')
        ? new RegExp(`\\bfn ${name}\\b`).test(code)
        : ["'", '"', '`'].some((quote) => code.includes(quote + name))
      if (!has) wrong.push(`${file} has no test \`${name}\``)
    }
  }
  for (const threat of THREATS) {
    const row = rows.find((line) => line.startsWith(`| ${threat} |`))
    if (!row) wrong.push(`${threat} is missing`)
    else if (!row.includes('**open**') && !namedIn(row).some(([, name]) => name)) {
      wrong.push(`${threat} names no test and is not open`)
    }
  }
  return wrong
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const read = (path) => readFileSync(join(root, path), 'utf8')
  const wrong = mistakes(read('SECURITY.md'), read)
  for (const line of wrong) console.error(line)
  if (wrong.length > 0) process.exit(1)
  console.log('the tests that SECURITY.md names exist')
}
