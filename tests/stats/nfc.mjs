// Writes src/stats/nfc.bin, the tables behind `src/stats/nfc.rs`, from what this Node's
// `String.prototype.normalize` does. Run by hand when Unicode grows; a test of the package
// compares every code point with the running engine.
//
// The file is four lists of variable-length integers (7 bits a byte, low first; signed ones
// zigzag), each after its length:
//   marks    (gap to the last code point, rank)            rank 0 ends a run of marks
//   seconds  (gap)                                         second halves of composites
//   pairs    (gap to the last composite, signed step of the first half, index of the second)
//   others   (gap, count, signed steps)                    what decomposes and never comes back
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/setup.mjs'

const LAST = 0x10ffff
const isHangul = (code) => code >= 0xac00 && code < 0xd7a4
const isSurrogate = (code) => code >= 0xd800 && code < 0xe000
const text = (...codes) => String.fromCodePoint(...codes)
const codes = (string) => [...string].map((one) => one.codePointAt(0))
const nfd = (string) => string.normalize('NFD')
const nfc = (string) => string.normalize('NFC')
const swaps = (a, b) => nfd(text(a, b)) !== text(a, b)

const all = []
for (let code = 0; code <= LAST; code++) if (!isSurrogate(code)) all.push(code)
const plain = all.filter((code) => nfd(text(code)) === text(code))

// Two marks change places when the first has the higher class. U+0345 has the highest of all,
// so whatever it lets pass is a mark. Only the order of the classes matters, not their numbers.
const TOP = 0x345
const classes = [] // one mark of each class, in order
for (const code of plain.filter((one) => one === TOP || swaps(TOP, one))) {
  const at = classes.findIndex((other) => !swaps(code, other))
  if (at === -1) classes.push(code)
  else if (swaps(classes[at], code)) classes.splice(at, 0, code)
}
const rank = (code) => {
  if (code !== TOP && !swaps(TOP, code)) return 0
  return 1 + classes.findIndex((other) => !swaps(code, other) && !swaps(other, code))
}

const marks = []
let last = 0
for (const code of plain) {
  const markRank = rank(code)
  if (markRank !== last) marks.push([code, (last = markRank)])
}

const pairs = []
const others = []
for (const code of all) {
  const decomposed = codes(nfd(text(code)))
  if (isHangul(code) || (decomposed.length === 1 && decomposed[0] === code)) continue
  const first = codes(nfc(text(...decomposed.slice(0, -1))))
  const second = decomposed.at(-1)
  const composite = nfc(text(code)) === text(code)
  if (composite && first.length !== 1) throw new Error(`no pair for ${code.toString(16)}`)
  if (composite) pairs.push([code, first[0], second])
  else others.push([code, decomposed])
}
const seconds = [...new Set(pairs.map(([, , second]) => second))].sort((a, b) => a - b)

const bytes = []
function number(value) {
  for (; value >= 0x80; value = Math.floor(value / 0x80)) bytes.push((value % 0x80) + 0x80)
  bytes.push(value)
}
const signed = (value) => number(value < 0 ? -2 * value - 1 : 2 * value)

let at = 0
const gap = (code) => {
  number(code - at)
  at = code
}
const list = (items, write) => {
  number(items.length)
  at = 0
  items.forEach(write)
}
let step = 0
const toward = (code) => {
  signed(code - step)
  step = code
}
list(marks, ([code, own]) => {
  gap(code)
  number(own)
})
list(seconds, gap)
list(pairs, ([code, first, second]) => {
  gap(code)
  toward(first)
  number(seconds.indexOf(second))
})
step = 0
list(others, ([code, whole]) => {
  gap(code)
  number(whole.length)
  whole.forEach(toward)
})
writeFileSync(join(root, 'src/stats/nfc.bin'), Uint8Array.from(bytes))
console.log(
  `Unicode ${process.versions.unicode}: ${marks.length} runs of marks, ${pairs.length} pairs, ` +
    `${others.length} others, ${bytes.length} bytes`,
)
