// What a wasm file weighs, and where it comes from: its bytes by section, by module of the crates
// and by function. The file must have its names, as `bindgen … --keep-names` leaves them.
//
//   node benches/size/weight.mjs <file.wasm> [--depth <segments of a module, 2>] [--top <functions, 40>]
//
// The second figure of a row is what the bytes add to a deflated stream, behind what stands before
// them: an estimate of their share of what is sent.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { deflateRawSync, gzipSync } from 'node:zlib'

const SECTIONS = [
  'custom',
  'types',
  'imports',
  'functions',
  'tables',
  'memory',
  'globals',
  'exports',
  'start',
  'elements',
  'code',
  'data',
  'data count',
  'tags',
]
/** How far back a deflated stream refers, in bytes. */
const WINDOW = 32768

/** Reads numbers and slices of `bytes` from `at` on. */
function reader(bytes, at = 0) {
  const number = () => {
    let value = 0
    for (let shift = 1; ; shift *= 128) {
      const byte = bytes[at++]
      value += (byte & 127) * shift
      if (byte < 128) return value
    }
  }
  const slice = (length) => bytes.subarray(at, (at += length))
  return { number, slice, byte: () => bytes[at++], at: () => at, more: () => at < bytes.length }
}

function sections(wasm) {
  const read = reader(wasm, 8)
  const found = []
  while (read.more()) {
    const id = read.byte()
    const length = read.number()
    const start = read.at()
    found.push({ id, start, body: read.slice(length) })
  }
  return found
}

/** Functions that are imported: the numbers of the others begin behind them. */
function importedFunctions(section) {
  if (!section) return 0
  const read = reader(section.body)
  let functions = 0
  for (let count = read.number(); count > 0; count -= 1) {
    read.slice(read.number())
    read.slice(read.number())
    const kind = read.byte()
    if (kind === 0) functions += 1
    if (kind === 1 || kind === 3) read.byte()
    if (kind === 4) read.byte()
    if (kind === 0 || kind === 4) read.number()
    if (kind === 1 || kind === 2)
      for (let flags = read.byte() & 1; flags >= 0; flags -= 1) read.number()
    if (kind === 3) read.byte()
  }
  return functions
}

/** Names of functions, by number: subsection 1 of the custom section `name`. */
function namesOf(found) {
  const names = new Map()
  for (const { id, body } of found) {
    const read = reader(body)
    if (id !== 0 || String(read.slice(read.number())) !== 'name') continue
    while (read.more()) {
      const kind = read.byte()
      const inner = reader(read.slice(read.number()))
      if (kind !== 1) continue
      for (let count = inner.number(); count > 0; count -= 1) {
        names.set(inner.number(), shortened(String(inner.slice(inner.number()))))
      }
    }
  }
  return names
}

/** A name without the hashes of its crates and of its instance. */
const shortened = (name) => name.replace(/::h[0-9a-f]{16}$/, '').replace(/\[[0-9a-f]{16}\]/g, '')

/** The module of a function: of a method in `<A as B>::c`, that of `A`, unless it is std's. */
function moduleOf(name, depth) {
  const crateName = /turnlock(_\w+)?::[\w:]*/.exec(name)?.[0]
  const path = crateName ?? name.replace(/ multivalue shim$/, '').replace(/^<+[&*]*(mut )?/, '')
  const parts = path
    .replace(/[<{ ].*/, '')
    .split('::')
    .filter(Boolean)
  const std = ['core', 'alloc', 'std'].includes(parts[0])
  return parts.slice(0, std ? 2 : Math.max(1, Math.min(depth, parts.length - 1))).join('::')
}

/** Sections and functions of a wasm file, each with its name, bytes and deflated share. */
function weigh(wasm) {
  const found = sections(wasm)
  const names = namesOf(found)
  const share = (start, length) => {
    const dictionary = wasm.subarray(Math.max(0, start - WINDOW), start)
    return deflateRawSync(wasm.subarray(start, start + length), { level: 9, dictionary }).length
  }
  const functions = []
  const code = found.find(({ id }) => id === 10)
  const read = reader(code.body)
  let index = importedFunctions(found.find(({ id }) => id === 2))
  for (let count = read.number(); count > 0; count -= 1, index += 1) {
    const length = read.number()
    const bytes = read.slice(length).length
    const name = names.get(index) ?? `function ${index}`
    functions.push({ name, bytes, deflated: share(code.start + read.at() - length, length) })
  }
  const rows = found
    .filter(({ id }) => id !== 10)
    .map(({ id, start, body }) => ({
      name: SECTIONS[id],
      bytes: body.length,
      deflated: share(start, body.length),
    }))
  return { sections: rows, functions }
}

/** Sums of rows that `name` gives one name, largest first. */
function summed(rows, name) {
  const sums = new Map()
  for (const row of rows) {
    const key = name(row)
    const sum = sums.get(key) ?? { name: key, bytes: 0, deflated: 0 }
    sums.set(key, { ...sum, bytes: sum.bytes + row.bytes, deflated: sum.deflated + row.deflated })
  }
  return [...sums.values()].sort((a, b) => b.bytes - a.bytes)
}

/** The tables of a wasm file, as text. */
export function report(wasm, depth = 2, top = 40) {
  const { sections, functions } = weigh(wasm)
  const line = ({ name, bytes, deflated }) =>
    `${String(bytes).padStart(8)} ${String(deflated).padStart(8)}  ${name}`
  return [
    `${wasm.length} bytes, ${gzipSync(wasm, { level: 9 }).length} gzip`,
    '',
    'sections besides the code',
    ...summed(sections, ({ name }) => name).map(line),
    '',
    'code by module',
    ...summed(functions, ({ name }) => moduleOf(name, depth)).map(line),

    '',
    'functions',
    ...summed(functions, ({ name }) => name)
      .slice(0, top)
      .map(line),
  ].join('\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [file] = process.argv.slice(2)
  const flag = (name) => Number(process.argv[process.argv.indexOf(name) + 1]) || undefined
  console.log(report(readFileSync(file), flag('--depth'), flag('--top')))
}
