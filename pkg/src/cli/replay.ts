/** A turn again, from its events or from another program's trace: nothing is asked, nothing runs. */
import { once } from 'node:events'
import { isTurnlockError, runTurn, type TurnEvent } from 'turnlock'
import { recognizeFormat, replay as replayTrace, traceCalls } from 'turnlock/inspect'
import { command, input, Usage, wholeNumber } from './command.js'
import { asJson, line, visible } from './printable.js'
import { again, checkEvents, isWhole, lastTurn, outline } from './recorded.js'
import { dim, green, red } from './terminal.js'

export const replay = command({
  name: 'replay',
  about:
    'A turn again, from its events. FILE has them as an array, JSON lines or an event stream (-: what is piped in): the last turn in it runs with the recorded texts, calls and results, each event is printed, then the differences. Anything else that doctor reads, with calls in it, runs as Turnlock would have had it.',
  positionals: ['FILE'],
  options: {
    'max-tools': { type: 'string', value: 'N', about: 'another budget than the recorded one' },
    mode: { type: 'string', value: 'NAME', about: 'another mode: two_stage or unified' },
    step: { type: 'boolean', default: false, about: 'waits for a key behind each event' },
  },
  ends: '0 if the turn is the recorded one, 1 if it differs; 0 for the trace of another program',
  async run(values, file = '') {
    const { mode, step, json } = values
    if (mode !== undefined && mode !== 'two_stage' && mode !== 'unified') {
      throw new Usage('--mode: two_stage or unified')
    }
    if (step && (json || file === '-' || !process.stdin.isTTY)) {
      throw new Usage('--step reads keys: it needs a terminal, a file, and no --json')
    }
    const maxTools = wholeNumber(values, 'max-tools')
    const text = await input(file)
    const { history } = asTrace(() => recognizeFormat(text))
    const print = printer(json, step)
    const events = history.filter(isEvent)
    if (events.length) return replayEvents(events, { mode, maxTools, json, print })
    if (history.some(isTraceEvent)) {
      throw new Usage(
        'this is what onTrace is given, without texts: replay reads the events of a turn',
      )
    }
    if (mode !== undefined) throw new Usage('--mode is for the events of a turn')
    return trace(history, maxTools ?? 1, json, print)
  },
})

/** What cannot be read as one; what is no JSON says so itself. */
function asTrace<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!isTurnlockError(error) || error.code.startsWith('json.')) throw error
    throw noTrace(error.message)
  }
}

const noTrace = (why: string) =>
  new Usage(
    `this is no trace (${why}): replay reads the events of a turn, as an array, JSON lines or an event stream, or a history with calls in it, such as a request body`,
  )

type Print = (event: TurnEvent) => Promise<boolean>
interface How {
  mode: 'two_stage' | 'unified' | undefined
  maxTools: number | undefined
  json: boolean
  print: Print
}

const isEvent = (one: unknown): one is TurnEvent => {
  const { seq, requestId, phase } = Object(one) as Partial<TurnEvent>
  return typeof seq === 'number' && typeof requestId === 'string' && typeof phase === 'string'
}
const isTraceEvent = (one: unknown) =>
  /^(orchestration_phase_start|tool_registration|llm_call)$/.test(String(Object(one).type))

async function replayEvents(events: TurnEvent[], how: How): Promise<number> {
  const { json, print } = how
  const recorded = lastTurn(events)
  checkEvents(recorded)
  const before = outline(recorded)
  const isSame = (now: string[]) =>
    before.length === now.length && before.every((text, at) => text === now[at])
  let played = await play(recorded, true, how)
  if (!isSame(outline(played))) {
    const other = await play(recorded, false, how)
    if (isSame(outline(other))) played = other
  }
  for (const event of played) if (!(await print(event))) break
  const now = outline(played)
  const same = isSame(now)
  const missing = before.filter((text) => !now.includes(text))
  const added = now.filter((text) => !before.includes(text))
  const last = recorded.at(-1)
  const ended = last?.type
  const code = last?.type === 'error' ? last.code : undefined
  if (json) {
    console.log(asJson({ replayed: { same, missing, added, ended, code } }))
    return same ? 0 : 1
  }
  if (same) {
    console.log(green(`✓ the same turn, ${played.length} events`))
    const why = code === undefined ? ended : `${ended}, ${code}`
    if (!isWhole(recorded)) console.log(dim(`it did not come to an answer: ${line(String(why))}`))
    return 0
  }
  console.log(red('✕ another turn than the recorded one:'))
  for (const text of missing) console.log(red(`- ${line(text)}`))
  for (const text of added) console.log(green(`+ ${line(text)}`))
  if (!missing.length && !added.length) console.log('the same steps in another order')
  return 1
}

/** The events of the turn when it runs again, as far as the recorded ones go. */
async function play(recorded: TurnEvent[], split: boolean, { mode, maxTools }: How) {
  const options = again(recorded, split)
  const isOther = mode !== undefined && mode !== options.mode
  if (maxTools !== undefined && (mode ?? options.mode) === 'unified') {
    throw new Usage('--max-tools is for two stages')
  }
  const policy = { ...(!isOther && options.policy), ...(maxTools !== undefined && { maxTools }) }
  const turn = runTurn({ ...options, ...(mode && { mode }), policy })
  const most = outline(recorded).length
  const played: TurnEvent[] = []
  for await (const event of turn) {
    const isEnd = !isWhole(recorded) && !isText(event)
    if (isEnd && outline([...played, event]).length > most) break
    played.push(event)
    if (isEnd && outline(played).length === most) break
  }
  turn.cancel('replayed')
  return played
}

const isText = ({ type }: TurnEvent) => type === 'text' || type === 'reasoning'

/** A trace of another program: what a turn of Turnlock makes of the same model and tools. */
async function trace(history: unknown[], maxTools: number, json: boolean, print: Print) {
  const found = asTrace(() => traceCalls(history))
  if (!found.calls.length) throw noTrace('there is no call in it')
  const { turn } = found.calls.at(-1) as { turn: number }
  const callCount = found.calls.filter((call) => call.turn === turn).length
  const { turn: replayed } = replayTrace(found, { maxTools })
  let isPrinting = true
  for await (const event of replayed) isPrinting &&= await print(event)
  const result = await replayed.result
  const ran = result.toolResults.filter(
    ({ status, replayed }) => (status === 'ok' || status === 'error') && !replayed,
  ).length
  const { status, blockedSignatures } = result
  if (json) {
    console.log(asJson({ replayed: { asked: callCount, ran, blockedSignatures, status } }))
  } else {
    const calls = callCount === 1 ? '1 call' : `${callCount} calls`
    console.log(`the trace has ${calls}; with maxTools: ${maxTools}, ${ran} of them ran`)
  }
  return 0
}

/** Prints events as they come, texts joined; false if the reader has seen enough. */
function printer(json: boolean, step: boolean): Print {
  let isOpen = false
  return async (event) => {
    if (json) {
      console.log(asJson(event))
      return true
    }
    if (isText(event) && 'chunk' in event) {
      if (!isOpen) process.stdout.write(head(event))
      isOpen = true
      process.stdout.write(visible(event.chunk))
      return true
    }
    if (isOpen) process.stdout.write('\n')
    isOpen = false
    console.log(head(event) + detail(event))
    return step ? key() : true
  }
}

const head = ({ seq, phase, type }: TurnEvent) =>
  `${dim(String(seq).padStart(4))} ${dim(phase.padEnd(12))} ${type} `

function detail(event: TurnEvent): string {
  if (event.type === 'tool_calls' || event.type === 'refused') {
    const calls = event.toolCalls.map(({ name, args }) => `${name} ${JSON.stringify(args)}`)
    const text = line(calls.join(', '))
    return event.type === 'refused' ? red(`(${event.reason}) ${text}`) : text
  }
  if (event.type === 'tool_results') {
    const resultText = ({
      name,
      status,
      replayed,
      result,
      error,
    }: (typeof event.toolResults)[number]) =>
      `${name} ${status}${replayed ? ' (replayed)' : ''} ${JSON.stringify(result ?? error) ?? ''}`
    return line(event.toolResults.map(resultText).join(', '))
  }
  const {
    type: _,
    phase: _p,
    requestId: _r,
    projectId: _j,
    toolBatchId: _b,
    seq: _s,
    ...rest
  } = event
  return line(JSON.stringify(rest))
}

/** Waits for a key; `q` and Ctrl-C end it. */
async function key(): Promise<boolean> {
  process.stdout.write(dim('  any key: the next event, q: the end\r'))
  process.stdin.setRawMode(true).resume()
  const [data] = (await once(process.stdin, 'data')) as [Buffer]
  process.stdin.setRawMode(false).pause()
  process.stdout.write('\x1b[2K')
  return !['q', '\u0003'].includes(data.toString())
}
