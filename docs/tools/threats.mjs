// Checks the tests that SECURITY.md names: a file in backticks, and behind it, on the same line, names in
// backticks, each of which is a test there: a title, or its beginning; in Rust a function with `#[test]`.
// Every threat T1 to T23 names one or is said to be **open**; every other row, and every bullet, names
// one or says **no test**. Whether a test holds what its line says is for readers.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../../scripts/setup.mjs'

const THREATS = Array.from({ length: 23 }, (_, at) => `T${at + 1}`)
const FILE = /^[\w.-]+(\/[\w.-]+)+\.(mjs|rs)$/

/** The tests that a line names, as pairs of a file and a name. */
function namedIn(text) {
  const named = []
  let file
  for (const [, word] of text.matchAll(/`([^`\n]+)`/g)) {
    if (FILE.test(word)) named.push([(file = word), undefined])
    else if (file) named.push([file, word])
  }
  return named
}

/** Whether a file has a test whose title is, or begins with, a name. */
function hasTest(file, code, name) {
  const plain = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  if (file.endsWith('.rs')) {
    // The attributes of a function stand directly above it.
    const above = String.raw`#\[[^\n]*\btest\b[^\n]*\]\n(?:\s*#\[[^\n]*\]\n)*\s*(?:pub )?(?:async )?`
    return new RegExp(`${above}fn ${plain}\\b`).test(code)
  }
  // A call of `test` or of a function that names its tests (`case_`), or a member of a table of tests.
  const begin = String.raw`(?:\b(?:test(?:\.\w+)?|case_)\(\s*|^\s*(?:async )?)['"\u0060]`
  return new RegExp(`${begin}${plain}(?!\\w)`, 'm').test(code)
}

/** What is wrong with a table of threats. `read` gives the text of a file, or throws. */
export function mistakes(text, read) {
  const wrong = []
  const lines = text.split('\n')
  for (const [file, name] of lines.flatMap(namedIn)) {
    let code
    try {
      code = read(file)
    } catch {
      wrong.push(`${file} does not exist`)
      continue
    }
    if (name !== undefined && !hasTest(file, code, name)) {
      wrong.push(`${file} has no test \`${name}\``)
    }
  }
  const namesOne = (line) => namedIn(line).some(([, name]) => name)
  for (const threat of THREATS) {
    const row = lines.find((line) => line.startsWith(`| ${threat} |`))
    if (!row) wrong.push(`${threat} is missing`)
    else if (!row.includes('**open**') && !namesOne(row)) {
      wrong.push(`${threat} names no test and is not open`)
    }
  }
  for (const line of lines) {
    // Heads of tables, and threats, are no other rows.
    const isOther = /^[|-] (?!(T\d+|Class)? ?\|)/.test(line)
    if (isOther && !line.includes('**no test**') && !namesOne(line)) {
      wrong.push(`no test: ${line.slice(0, 60)}`)
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
