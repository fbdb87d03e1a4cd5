// docs/limits.md: limits, with their unit, default and what happens at them. The numbers are those
// of the code: constants of src/limits.rs, of other modules of the core, of the package and of the
// Rust client, and rows of docs/options.md. A number in a file that has a row is a row too, or stands
// in APART_FROM_LIMITS; a file without a row is not looked at.
//
//   node scripts/limits.mjs [--check]
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './setup.mjs'

const read = (file) => readFileSync(join(root, file), 'utf8')

/** The constants of the core, by name: what, its unit, and the code or what happens. */
const CORE = {
  JSON_DEPTH: ['levels of a JSON value', 'levels', '`json.too_deep`'],
  HOST_LEVELS: [
    'further levels of what holds such values: histories, options, records',
    'levels',
    '`json.too_deep`',
  ],
  JSON_BYTES: ['a text for `canonicalize`, `signature`', 'bytes', '`json.too_large`'],
  HISTORY_BYTES: ['the options of a turn, with its history', 'bytes', '`json.too_large`'],
  HISTORY_PARTS: [
    'parts of a history; a turn in Node or a page takes more, if it keeps nothing and its provider needs no repair',
    'parts',
    '`message.too_many_parts`',
  ],
  HISTORY_PART_BYTES: [
    'bytes for each part of a history, on average',
    'bytes, at least',
    '`message.too_many_parts`',
  ],
  HISTORY_TINY: ['parts of a history of any size', 'parts', '`message.too_many_parts`'],
  KEPT_BYTES: ['what a resume reads of its store', 'bytes', '`json.too_large`'],
  ARGUMENTS_BYTES: ['arguments of a call', 'bytes', 'the call is refused'],
  REFUSED_BYTES: ['a text in place of arguments, as it is told', 'bytes', 'cut'],
  SSE_EVENT_BYTES: ['an event of a response', 'bytes', '`model.stream`'],
  RESPONSE_BYTES: ['text, reasoning and arguments of a response', 'bytes', '`model.stream`'],
  CALLS_PER_RESPONSE: ['calls of a response', 'calls', 'reading stops'],
  FURTHER_CALLS: ['calls read behind a spent budget', 'calls', 'reading stops'],
  FURTHER_BYTES: ['bytes read behind a spent budget', 'bytes', 'reading stops'],
  FURTHER_MS: ['reading behind a spent budget and the last tool', 'ms', 'reading stops'],
  STREAM_CALLS: ['calls and blocks that a decoder keeps apart', 'calls', '`model.stream`'],
  REQUEST_BYTES: ['a tool request of a planner', 'bytes', 'rejected, the plan goes on'],
  REQUESTED_CALLS: ['calls of a tool request', 'calls', 'refused (`budget`)'],
  REQUEST_ITERATIONS: ['requests of a pass', 'requests', '`options.invalid`'],
  TOOLS: ['tools of a registry', 'tools', '`options.invalid`'],
  MAX_CYCLES: ['cycles of a turn', 'cycles', '`options.invalid`'],
  ASSIGNED_ITEMS: ['items of lists matched exactly', 'items', 'approximated, and said'],
  ASSIGN_WORK: ['comparisons of one matching', 'comparisons', 'approximated, and said'],
  SEQUENCE_CELLS: ['cells of a longest common subsequence', 'cells', 'approximated, and said'],
  COMPARE_STEPS: ['steps of comparing all replicates', 'steps', 'approximated, and said'],
  PAIR_STEPS: ['steps of one pair, at least', 'steps', 'approximated, and said'],
  REPLICATES: ['replicates of a bundle', 'replicates', '`options.invalid`'],
  REPLICATE_BYTES: ['the JSON of a replicate', 'bytes', 'the replicate is invalid'],
  BUNDLE_BYTES: ['the options of a bundle', 'bytes', '`json.too_large`'],
  BUNDLE_FIELDS: ['fields listed one by one', 'fields', 'the list is cut'],
  PLAN_BYTES: ['a plan', 'bytes', '`plan.too_large`'],
  PLAN_STEPS: ['steps of any plan', 'steps', '`plan.too_many_steps`'],
  CHAIN_STEPS: ['steps of a plan, by default', 'steps', '`plan.too_many_steps`'],
  STEP_ID_BYTES: ['the id of a step', 'bytes', '`plan.invalid_step`'],
  PLACEHOLDER_CHARS: ['the text that stands for a result', 'characters', 'cut'],
  PLACEHOLDER_BYTES: ['what replaces a placeholder', 'bytes', 'cut'],
  CONDITION_BYTES: ['a condition of a step', 'bytes', '`plan.invalid_condition`'],
  STEP_RESULT_BYTES: ['the result of a step', 'bytes', '`chain.result_too_large`'],
  PATTERN_LATENCIES: ['latencies kept of a pattern', 'numbers', 'the oldest is dropped'],
}

/** Constants of modules of the core, and of its boundary to JavaScript: `file NAME`. */
const MODULES = {
  'crates/wasm/src/driven/mod.rs EFFECTS': [
    'effects of one answer',
    'effects',
    'the next answer has the others',
  ],
  'crates/wasm/src/driven/mod.rs EFFECTS_BYTES': [
    'JSON of the effects of one answer',
    'bytes, then no other effect',
    'the next answer has the others',
  ],
  'src/inference/retry.rs LONGEST_WAIT_MS': [
    'a wait before a request is sent again',
    'ms',
    'the request fails, if its provider asks for more',
  ],
  'src/proxy/stray.rs DEEPEST': ['levels in which calls are looked for', 'levels', 'passes unread'],
  'src/stream/decoder.rs SHOWN': ['text that is no framing, as it is told', 'bytes', 'cut'],
  'src/stream/template.rs SHARE': [
    'what templates of events copy, for each byte that was read',
    'times',
    'events are read without one',
  ],
  'src/stream/template.rs PATIENCE': [
    'templates in a row that were not used',
    'templates',
    'no other is learned',
  ],
  'src/guard/notice.rs NAME_CHARS': ['the name of a tool in a prompt', 'characters', 'cut'],
  'src/guard/policy.rs MAX_REPEATS': [
    'calls with the same result in a row, where results decide',
    'calls',
    'blocked (`duplicate`)',
  ],
  'src/tool/batch/mod.rs WHY_BYTES': ['what is wrong with arguments', 'bytes', 'cut'],
  'src/turn/record/mod.rs ANSWER_ERRORS': [
    'what is wrong with an answer, as the model is told',
    'bytes',
    'cut',
  ],
  'src/turn/record/outcomes.rs COMPOSED_CHARS': [
    'a result in an answer that the turn writes itself',
    'characters',
    'cut',
  ],
  'src/turn/durable/journal.rs ANSWER_MS': [
    'an attempt to commit',
    'ms',
    'the commit is tried again',
  ],
  'src/turn/durable/journal.rs ATTEMPTS': ['attempts to commit', 'attempts', 'the turn fails'],
  'src/turn/durable/journal.rs LAST_WAIT_MS': [
    'the store taking the end of a turn whose time is over, at least',
    'ms',
    '`turn.timeout`',
  ],
  'src/turn/durable/journal.rs LONGEST_GATHER_MS': [
    'gathering text between two commits, for a slow store',
    'ms',
    'it is committed',
  ],
  'src/planning/cut.rs PARAMS_BYTES': ['arguments in an event of a pass', 'bytes of JSON', 'cut'],
  'src/planning/cut.rs NAME_BYTES': ['a name in an event of a pass', 'bytes', 'cut'],
  'src/planning/cut.rs SUMMARY_BYTES': ['a summary in an event of a pass', 'bytes', 'cut'],
  'src/planning/machine/calls.rs ERROR_BYTES': ["a tool's message of an error", 'bytes', 'cut'],
  'src/planning/machine/trace.rs KEYS': ['names of members in a summary', 'names', 'not named'],
  'src/planning/machine/trace.rs KEY_BYTES': ['a name of a member in a summary', 'bytes', 'cut'],
  'src/planning/machine/trace.rs FLAGS': [
    'members of `global_context` in a trace',
    'names',
    'not named',
  ],
  'src/evidence/machine.rs ERRORS': ['errors of a replicate', 'errors', 'the others are not told'],
  'src/evidence/emit.rs REASON_CHARS': [
    'the reason for which a bundle was cancelled',
    'characters',
    'cut',
  ],
  'src/chain/condition.rs DEPTH': [
    'levels of a condition of a step',
    'levels',
    '`plan.invalid_condition`',
  ],
  'src/chain/classify/mod.rs MOST': [
    'what of a query is classified',
    'bytes',
    'the rest is not read',
  ],
  'src/reply/mod.rs CANDIDATES': [
    'different JSON values in a reply that a schema chooses among',
    'values',
    'the reply is ambiguous: `answer.invalid`, `plan.invalid`, `json.syntax`',
  ],
  'src/chain/learn.rs MOST': ['chains that a pattern has seen', 'chains', 'they count as so many'],
  'src/chain/machine.rs RECALL_MS': ['asking the cache of a chain', 'ms', 'as if it had nothing'],
}

/** Constants of the package: `file NAME`. */
const PACKAGE = {
  'driver/loop.ts APART': ['options beyond which a turn has an instance alone', 'bytes', 'apart'],
  'driver/loop.ts LONGEST_TIMER': ['a timer', 'ms', 'it is set again'],
  'core/instance.ts FULL': ['memory of an instance that takes more turns', 'bytes', 'a new one'],
  'core/instance.ts LARGE': ['memory of an idle instance', 'bytes', 'it is dropped'],
  'driver/model-requests.ts SLICE': ['a response that the core reads at once', 'bytes', 'sliced'],
  'driver/model-requests.ts FAILURE_BODY': [
    'the body of a failure',
    'bytes',
    'the rest is not read',
  ],
  'driver/driver.ts PROGRESS': ['a progress report of a tool', 'bytes of JSON', 'it is dropped'],
  'driver/feed.ts MOST_BEHIND': [
    'events that a slow reader is behind',
    'events',
    'the model waits',
  ],
  'json-schema/run.ts MOST_STEPS': [
    'one check against a JSON Schema',
    'steps: keywords, members, items, 32 characters',
    'the call is refused',
  ],
  'json-schema/run.ts MOST_LEVELS': [
    'schemas within each other in one check',
    'levels',
    'the call is refused',
  ],
  'json-schema/run.ts MOST_ERRORS': ['errors of one check', 'errors', 'the others are left out'],
  'json-schema/run.ts MOST_OF_NAME': ['a name in the place of an error', 'characters', 'it is cut'],
  'json-schema/regex.ts MOST_MATCHED': [
    'a text for a `pattern`',
    'characters',
    'the call is refused',
  ],
  'turn/resume.ts MOST_LISTED': ['turns of `listTurns`', 'turns', 'the newest'],
  'turn/kept.ts MOST_GROUPS': ['groups of events read at once', 'groups', 'read on'],
  'remote/wire.ts MOST_CHARACTERS': ['an event of a handler', 'characters', 'the reader fails'],
  'chain/driver.ts MOST_OF_PLAN': ['the text of a plan', 'characters', 'its stream is left'],
  'chain/driver.ts MOST_OF_PIECE': ['a piece of an answer', 'characters', '`chain.too_long`'],
  'chain/driver.ts MOST_OF_RESULT': [
    'the JSON that a callback of a chain returns',
    'characters',
    '`chain.result_too_large`',
  ],
  'evidence/pure.ts MOST': ['the input of `summarizeReplicates`', 'characters', '`json.too_large`'],
  'evidence/json.ts REPLICATE_CHARS': [
    'the JSON of a replicate',
    'characters',
    'the replicate is invalid',
  ],
  'server/body.ts MOST_APPROVALS': [
    'approvals or results of a body',
    'entries',
    '400 `request.invalid`',
  ],
  'server/json-density.ts FREE': [
    'memory of the values of any body',
    'bytes',
    '400 `request.json`',
  ],
  'server/json-density.ts RATIO': [
    'memory of the values of a body for each further byte of it',
    'bytes',
    '400 `request.json`',
  ],
  'server/json-density.ts NEW_SHAPE': [
    'memory that counts for a name at a new place of a body',
    'bytes',
    '400 `request.json`',
  ],
  'server/json-density.ts MOST_SHAPES': [
    'names at places of a body that are remembered',
    'names',
    'further ones count as new',
  ],
  'server/json-density.ts LEVELS': [
    'levels of a body whose values take too much',
    'levels',
    '`json.too_deep`',
  ],
  'server/pass-events.ts MOST': ['events of one answer', 'events', 'the page asks on'],
  'server/limits.ts MOST_TENANTS': ['tenants whose resumes are counted', 'tenants', 'the oldest'],
  'server/limits.ts MOST_TURNS': ['turns of a tenant counted in a minute', 'turns', '429'],
  'proxy/frames.ts LONGEST': [
    'a frame of a stream',
    'bytes',
    'the stream passes unread; in `bound`, `heldBytes` counts',
  ],
  'proxy/history.ts ROUNDS': ['repairs of what a repair brought about', 'rounds', 'left as it is'],
  'proxy/history.ts WINDOW': ['a difference of two histories', 'elements', 'one difference'],
  'redactor/index.ts MOST_OF_VALUES': [
    'registered values together',
    'characters',
    '`options.invalid`',
  ],
  'redactor/json.ts DEEPEST': ['levels of a value that is redacted', 'levels', 'masked'],
  'adapters/otel/legs.ts MOST_TURNS': ['turns with open spans', 'turns', 'the oldest'],
  'adapters/mcp/client.ts MOST_PAGES': [
    'pages of tools of a server',
    'pages',
    'the rest is not read',
  ],
  'adapters/ai-sdk/middleware.ts KEPT': [
    'calls whose signatures a middleware keeps',
    'calls',
    'the oldest is dropped',
  ],
  'driver/at-hand.ts ENOUGH': ['chunks of a body that are joined', 'bytes', 'they are read apart'],
  'turn/kept.ts READ_MS': ['reading a store', 'ms', '`store.timeout`'],
  'turn/resume.ts ATTEMPTS': [
    'attempts to write between two writes of an owner',
    'attempts',
    '`turn.conflict`',
  ],
  'remote/turn.ts MOST_BEHIND': [
    'events that all readers of a remote turn are behind',
    'events',
    'the handler waits',
  ],
  'remote/turns.ts REMEMBERED': [
    'turns of which a page knows the last event',
    'turns',
    'the oldest is forgotten',
  ],
  'proxy/report.ts MOST': ['repairs and refusals in a header', 'entries', 'counted'],
  'proxy/headers.ts ROUNDS': ['times that a path is encoded', 'times', '400 `request.path`'],
  'evidence/lints.ts MOST': ['nits of one lint', 'nits', 'the others are not told'],
  'evidence/schema.ts ERRORS': ['errors of a replicate', 'errors', 'the others are not told'],
  'redactor/stream.ts MOST_READERS': [
    'readers of JSON in a text that events divide',
    'readers',
    'one of the middle is dropped',
  ],
  'redactor/events.ts MOST_WAITING': [
    'events that wait behind a text',
    'events',
    'the text is shown, as at a pause',
  ],
  'redactor/tables.ts MOST': ['a run without an end', 'characters', 'the rest is not read'],
  'server/follow.ts LONGEST_SECRET': [
    'text that is held back where the first events were dropped',
    'characters',
    'shown',
  ],
  'stores/postgres.ts TRIES': [
    'attempts at a transaction that lost',
    'attempts',
    'the error is reported',
  ],
}

/** Constants of the Rust client: `file NAME`. */
const CLIENT = {
  'effects.rs SLICE': ['a response that the core reads at once', 'bytes', 'sliced'],
  'effects.rs PROGRESS': ['a progress report of a tool', 'bytes', 'it is dropped'],
  'http.rs FAILURE_BODY': ['the body of a failure', 'bytes', 'the rest is not read'],
  'feed.rs MOST_BEHIND': ['events that a slow reader is behind', 'events', 'the model waits'],
  'resume.rs READ_MS': ['reading a store', 'ms', '`store.timeout`'],
  'resume.rs MOST_GROUPS': ['groups of events read at once', 'groups', 'read on'],
  'resume.rs ATTEMPTS': [
    'attempts to write between two writes of an owner',
    'attempts',
    '`turn.conflict`',
  ],
  'beside.rs MOST_LISTED': ['turns of a list', 'turns', 'the newest'],
  'evidence/host.rs ERRORS': ['errors of a replicate', 'errors', 'the others are not told'],
  'evidence/tool.rs MAX_FIELDS': ['fields of a bundle that is a tool', 'fields', 'the list is cut'],
  'evidence/tool.rs MAX_DIFFS': ['differences of a bundle that is a tool', 'entries', 'cut'],
  'evidence/tool.rs MAX_BYTES': ['a bundle that is a tool, without metadata', 'bytes', 'cut'],
  'evidence/tool.rs SECONDS': ['a bundle that is a tool', 's', 'it ends with what it has'],
  'planning/result.rs ERRORS': ['errors of a plan in a message', 'errors', 'not named'],
}

/** Numbers that bound nothing that others send, in files that have rows. */
const APART_FROM_LIMITS = [
  'crates/client/src/evidence/tool.rs GRACE_MS',
  'crates/client/src/evidence/tool.rs RESULT_BYTES',
  'crates/client/src/effects.rs HELD_BACK_MS',
  'crates/client/src/effects.rs SLACK',
  'pkg/src/driver/at-hand.ts TICKS',
  'pkg/src/driver/driver.ts ANSWER',
  'pkg/src/driver/driver.ts CHUNKS',
  'pkg/src/driver/feed.ts BLOCK',
  'pkg/src/driver/model-requests.ts HELD_BACK',
  'pkg/src/proxy/frames.ts CR',
  'pkg/src/proxy/frames.ts LF',
  'pkg/src/redactor/tables.ts MIXED',
  'pkg/src/server/limits.ts MINUTE',
  'src/chain/classify/mod.rs CLEAR',
  'src/guard/policy.rs MOST',
  'src/inference/retry.rs FIRST_WAIT_MS',
  'src/turn/durable/journal.rs FIRST_WAIT_MS',
  'src/turn/durable/journal.rs ROUND_TRIPS',
]

/** Rows of docs/options.md: `Section name`. Their ranges and meanings stand there. */
const OPTIONS = {
  'Policy maxTools': ['calls', 'refused (`budget`)'],
  'Policy actionMaxTools': ['calls', 'refused (`budget`)'],
  'Policy maxCycles': ['cycles', 'the answer is asked for'],
  'Policy maxSteps': ['inferences', 'no call of the last one runs'],
  'Policy maxTokens': ['tokens', 'the answer is asked for'],
  'Policy maxCost': ['micro-dollars', 'the answer is asked for'],
  'Policy toolTimeoutMs': ['ms', 'the call: `timeout`, or `unknown`'],
  'Policy toolsTotalMs': ['ms', 'the calls: `timeout`, or `unknown`'],
  'Policy modelFirstByteMs': ['ms', '`model.timeout`'],
  'Policy modelIdleMs': ['ms', '`model.timeout`'],
  'Policy turnMs': ['ms', '`turn.timeout`, or `model.timeout`'],
  'Policy maxToolResultBytes': ['bytes of JSON', 'cut, and marked'],
  'memoryStore maxTurns': ['turns', 'one that is over makes room, or `store.full`'],
  'memoryStore maxCharacters': ['characters', 'one that is over makes room, or `store.full`'],
  'memoryStore maxReusable': ['outcomes', 'the oldest is dropped'],
  'memoryPassEvents maxCharacters': ['characters', 'the oldest event is dropped'],
  'ServerLimits bodyBytes': ['bytes', '413 `request.too_large`'],
  'ServerLimits messages': ['messages', '400 `request.invalid`'],
  'ServerLimits resumesPerMinute': ['attempts', '429 `limit.resumes`'],
  'ServerLimits turnsPerTenant': ['turns', '429 `limit.turns`'],
  'ServerLimits readersPerTurn': ['readers', '429 `limit.readers`'],
  'ProxyLimits bodyBytes': ['bytes', '413 `request.too_large`; passes where it is not watched'],
  'ProxyLimits heldBytes': ['bytes', 'its calls are withheld; `proxy.held_too_long` in the report'],
  'ProxyLimits firstByteMs': ['ms', '504 `model.timeout`'],
  'ProxyLimits idleMs': ['ms', 'the connection breaks; `model.timeout` in the report'],
}

/** Values of `NAME: type = expression;` or `NAME = expression`, by name. */
function constants(text, pattern) {
  const values = {}
  for (const [, name, expression] of text.matchAll(pattern)) {
    const plain = expression
      .replace(/ as \w+/g, '')
      .replace(/\b[A-Z_]{2,}\b/g, (other) => values[other])
    if (/^[\d_.\s*+()<-]+$/.test(plain)) values[name] = Function(`return ${plain}`)()
  }
  return values
}

const RUST = /^(?:pub(?:\([\w ]+\))? )?const (\w+): \w+ = ([^;]+);/gm
const SCRIPT = /^(?:export )?const ([A-Z_]+)(?:: \w+)? = ([^\n]+)$/gm

const UNITS = [
  [2 ** 30, 'GiB'],
  [2 ** 20, 'MiB'],
  [2 ** 10, 'KiB'],
]
/** 65536 bytes are 64 KiB. */
function amount(value, unit) {
  const [size, name] = UNITS.find(([size]) => value % size === 0 && value >= size) ?? []
  if (size && /^(bytes|characters)/.test(unit)) {
    return `${value / size} ${unit.startsWith('bytes') ? name : name.replace('iB', 'i')}`
  }
  return String(value).replace(/\B(?=(\d{3})+$)/g, ' ')
}

const line = (...cells) => `| ${cells.join(' | ')} |`
const table = (head, rows) => [line(...head), line(...head.map(() => '---')), ...rows].join('\n')

function coreRows() {
  const values = constants(read('src/limits.rs'), RUST)
  const lacks = Object.keys(values).filter((name) => !Object.hasOwn(CORE, name))
  const extra = Object.keys(CORE).filter((name) => !Object.hasOwn(values, name))
  if (lacks.length || extra.length) {
    throw new Error(`scripts/limits.mjs: it lacks ${lacks}; src/limits.rs has no ${extra}`)
  }
  return Object.entries(CORE).map(([name, [what, unit, error]]) =>
    line(what, amount(values[name], unit), unit, error, `\`${name}\``),
  )
}

/** Rows of constants of files under `under`; a further number of such a file is a mistake. */
function fileRows(under, places) {
  const numbers = new Map()
  for (const place of Object.keys(places)) {
    const path = under + place.split(' ')[0]
    numbers.set(path, constants(read(path), path.endsWith('.rs') ? RUST : SCRIPT))
  }
  const lacks = [...numbers]
    .flatMap(([path, values]) => Object.keys(values).map((name) => `${path} ${name}`))
    .filter((place) => !Object.hasOwn(places, place.slice(under.length)))
    .filter((place) => !APART_FROM_LIMITS.includes(place))
  if (lacks.length) throw new Error(`scripts/limits.mjs has no row for ${lacks.join(', ')}`)
  return Object.entries(places).map(([place, [what, unit, error]]) => {
    const [file, name] = place.split(' ')
    const value = numbers.get(under + file)[name]
    if (value === undefined) throw new Error(`${under}${file} has no number ${name}`)
    return line(what, amount(value, unit), unit, error, `\`${name}\` of \`${file}\``)
  })
}

function optionRows() {
  const sections = new Map(
    read('docs/options.md')
      .split(/^## /m)
      .map((text) => [text.slice(0, text.indexOf('\n')), text]),
  )
  return Object.entries(OPTIONS).map(([place, [unit, error]]) => {
    const [section, name] = place.split(' ')
    const found = sections.get(section)?.match(new RegExp(`^\\| \`${name}\` \\|.*$`, 'm'))?.[0]
    if (!found) throw new Error(`docs/options.md has no ${place}`)
    const [, , , given] = found.split(/(?<!\\)\|/).map((cell) => cell.trim())
    const number = /^`(\d+)`$/.exec(given)?.[1]
    const value = number === undefined ? given : amount(Number(number), unit)
    const at = `[${section}](options.md#${section.toLowerCase()})`
    return line(`\`${name}\``, value, unit, error, at)
  })
}

/** The memory of a core, which the linker is told. */
function memory() {
  const expression = /const MAX_MEMORY = (.*)$/m.exec(read('scripts/build/cores.mjs'))?.[1]
  return amount(Function(`return ${expression}`)(), 'bytes')
}

const HEAD = ['limit', 'value', 'unit', 'what happens beyond it', 'where']
const made = `<!-- Generated by \`node scripts/limits.mjs\`. Do not edit. -->

# Limits

The limits of what others send, and what happens at each. Where a code is named, the failure has it; no other turn is touched. The memory of a core is at most ${memory()}; one that asks for more traps, which is \`core.fault\` for the turns of that instance alone.

## Options

What a host sets. Ranges and meanings are in [options.md](options.md).

${table(['option', 'default', 'unit', 'what happens beyond it', 'where'], optionRows())}

## The core

Constants of \`src/limits.rs\`, with the reasons there.

${table(HEAD, coreRows())}

Constants of its modules, and of its boundary to JavaScript.

${table(HEAD, fileRows('', MODULES))}

## The package

Constants of \`pkg/src\`.

${table(HEAD, fileRows('pkg/src/', PACKAGE))}

## The Rust client

Constants of \`crates/client/src\`. What the core bounds, it bounds there too.

${table(HEAD, fileRows('crates/client/src/', CLIENT))}
`

const to = join(root, 'docs/limits.md')
if (process.argv.includes('--check')) {
  if (existsSync(to) && readFileSync(to, 'utf8') === made) process.exit(0)
  console.log('not ok - docs/limits.md is stale: node scripts/limits.mjs writes it')
  process.exit(1)
}
writeFileSync(to, made)
