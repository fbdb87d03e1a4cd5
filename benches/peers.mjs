// Malformed histories through turnlock and through its peers: is what they would send to OpenAI's
// chat API a valid request? Prints a table. npm run bench -- peers;
// node benches/peers.mjs --why also says what is wrong with each.
//
// peers/histories.json has the histories, each as it was kept, and the request that turnlock's
// rules ask for. peers/read.mjs reads them without repairing anything, a file for each peer puts
// that into the peer's own shapes, and peers/oracle.mjs judges what comes out. Where a peer
// documents an option that repairs, it runs with and without, and the better verdict counts.
//
// Two peers keep their conversion to OpenAI's fields in packages with the whole SDK of OpenAI,
// which nothing else here needs. To run these too:
//   npm install --no-save --ignore-scripts @langchain/openai@1.6.0 @tanstack/openai-base@0.10.15
import { readFileSync } from 'node:fs'
import * as turnlock from 'turnlock'
import * as ai from './peers/ai.mjs'
import * as langchain from './peers/langchain.mjs'
import { faults, matches } from './peers/oracle.mjs'
import { plain, read } from './peers/read.mjs'
import * as tanstack from './peers/tanstack.mjs'
import { Unfit } from './peers/unfit.mjs'

const here = (path) => new URL(path, import.meta.url)
const cases = JSON.parse(readFileSync(here('./peers/histories.json'), 'utf8'))
const version = (name) =>
  JSON.parse(readFileSync(here(`../node_modules/${name}/package.json`), 'utf8')).version

const normalized = (_list, { input }) =>
  turnlock.normalizeHistory(structuredClone(input), { dialect: 'openai-chat' }).messages

/** Column → ways through the library; each gives the messages of the request. */
const COLUMNS = {
  'as it is': { plainly: plain },
  '`ai` ModelMessage': ai.modelMessages,
  '`ai` UIMessage': ai.uiMessages,
  '`@langchain/core`': langchain.messages,
  '`@tanstack/ai` ModelMessage': tanstack.modelMessages,
  '`@tanstack/ai` UIMessage': tanstack.uiMessages,
  turnlock: turnlock.normalizeHistory ? { plainly: normalized } : {},
}

const RANK = ['valid', 'throws', 'invalid', 'n/a']

async function judge(run, entry) {
  try {
    const messages = await run(read(entry), entry)
    const found = faults(messages)
    return { messages, verdict: found.length ? 'invalid' : 'valid', why: found.join('; ') }
  } catch (error) {
    if (error instanceof Unfit) return { verdict: 'n/a', why: error.message }
    return { verdict: 'throws', why: error.message.split('\n')[0].slice(0, 160) }
  }
}

async function best(ways, entry) {
  const tried = []
  for (const [how, run] of Object.entries(ways)) tried.push({ how, ...(await judge(run, entry)) })
  tried.sort((a, b) => RANK.indexOf(a.verdict) - RANK.indexOf(b.verdict))
  return tried[0] ?? { verdict: 'n/a', why: 'not in this build' }
}

/** Is a text that a user wrote missing from what the request says for the user? */
function losesText(entry, { messages }) {
  const said = (list) =>
    list.flatMap(({ role, content }) => (role === 'user' ? [content].flat() : []))
  const sent = said(messages).map((part) => part.text ?? part)
  const kept = (text) => sent.some((other) => other.includes(text.trim().toWellFormed()))
  return said(read(entry)).some((text) => text.trim() && !kept(text))
}

// The oracle is only worth something if it takes every answer that the rules ask for.
for (const { id, expected } of cases) {
  const found = faults(expected)
  if (found.length) throw new Error(`the oracle rejects what ${id} expects: ${found.join('; ')}`)
}

const names = Object.keys(COLUMNS)
const totals = names.map(() => ({ valid: 0, throws: 0, invalid: 0, 'n/a': 0 }))
const rows = []
const notes = []
let equal = 0
for (const entry of cases) {
  const cells = []
  for (const [column, ways] of Object.entries(COLUMNS)) {
    const result = await best(ways, entry)
    totals[cells.length][result.verdict]++
    let cell = result.verdict
    if (cell === 'valid' && losesText(entry, result)) cell += ' *'
    else if (cell === 'valid' && result.how !== 'plainly') cell += ' †'
    cells.push(cell)
    const how = result.how && result.how !== 'plainly' ? ` (${result.how})` : ''
    if (result.why) notes.push(`${entry.id} ${column}${how}: ${cell}, ${result.why}`)
    if (column === 'turnlock' && result.messages) {
      const same = matches(result.messages, entry.expected)
      if (same) equal++
      else notes.push(`${entry.id} turnlock: not as expected: ${JSON.stringify(result.messages)}`)
    }
  }
  rows.push([`${entry.id} ${entry.title.replace(/ \(.*\)$/, '')}`, ...cells])
}

const line = (cells) => `| ${cells.join(' | ')} |`
const sum = (key) => line([`**${key}**`, ...totals.map((total) => `**${total[key]}**`)])
console.log(line(['history', ...names]))
console.log(line(['---', ...names.map(() => '---')]))
for (const row of rows) console.log(line(row))
for (const key of RANK) console.log(sum(key))

console.log(`
\`ai\` ${version('ai')} with \`@ai-sdk/openai-compatible\` ${version('@ai-sdk/openai-compatible')}, \
\`@langchain/core\` ${version('@langchain/core')} ${through(langchain.wire)}, \
\`@tanstack/ai\` ${version('@tanstack/ai')} ${through(tanstack.wire)}. \
† with the option that the peer documents for it. * valid, but a text of the user is gone. \
n/a: the shape cannot hold such a history. Judged by benches/peers/oracle.mjs: no provider was asked.`)
if (turnlock.normalizeHistory)
  console.log(`turnlock: ${equal} of ${cases.length} exactly as expected.`)
if (process.argv.includes('--why')) console.log(`\n${notes.join('\n')}`)

function through(wire) {
  return wire ? `with \`${wire}\` ${version(wire)}` : 'with its fields copied into those of OpenAI'
}
