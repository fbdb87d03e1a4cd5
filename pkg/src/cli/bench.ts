/** What the package costs on this machine, beside plain JavaScript. */
import { availableParallelism, cpus } from 'node:os'
import { compare, median } from '../../../www/src/bench/measure.js'
import { CASES, type Case } from './cases.js'
import { command, Usage, whole } from './command.js'
import { version } from './help.js'
import { asJson, line } from './printable.js'
import { dim, progress, wrapped } from './terminal.js'

export const bench = command({
  name: 'bench',
  about:
    'What this package costs on this machine, beside plain JavaScript. A streamed text event, a history of 1 000 messages, a bundle of 8 answers, each in rounds in which all take turns. A ratio is that of the medians, with the least and the greatest of a round in brackets; read the ratios, since times depend on what else runs.',
  positionals: [],
  options: {
    rounds: { type: 'string', value: 'N', default: '7', about: 'how often each is measured' },
    only: { type: 'string', value: 'NAME', about: `one of ${Object.keys(CASES).join(', ')}` },
  },
  ends: '0, however fast it is',
  async run(values) {
    const { only, json } = values
    const rounds = whole(values, 'rounds', { least: 1, most: 1000 }) ?? 1
    if (only !== undefined && !Object.hasOwn(CASES, only)) {
      throw new Usage(`--only: one of ${Object.keys(CASES).join(', ')}`)
    }
    const machine = {
      ...{ turnlock: version, node: process.versions.node, cpus: availableParallelism() },
      ...{ cpu: cpus()[0]?.model ?? 'unknown', platform: `${process.platform} ${process.arch}` },
    }
    const { turnlock, node, cpu, platform } = machine
    console.log(
      json
        ? asJson({ machine, rounds })
        : dim(
            `turnlock ${turnlock}, Node ${node}, ${platform}, ${machine.cpus} × ${line(cpu)}, ${rounds} round${rounds > 1 ? 's' : ''}`,
          ),
    )
    for (const [name, make] of Object.entries(CASES)) {
      if (only !== undefined && only !== name) continue
      progress(`${name}: warming up`)
      const one = make()
      const rows = await measured(name, one, rounds)
      progress()
      const { unit, note } = one
      console.log(json ? asJson({ case: name, unit, note, rows }) : table(one, rows))
    }
    return 0
  },
})

interface Row {
  subject: string
  /** In the unit of the case. */
  median: number
  /** Of the medians. */
  ratio: number
  /** Of a round. */
  least: number
  greatest: number
}

async function measured(name: string, one: Case, rounds: number): Promise<Row[]> {
  const { subjects, isRight, per } = one
  const times: Record<string, number>[] = []
  await compare(subjects, {
    ...{ rounds, isRight },
    tell(round, measured) {
      times.push(measured)
      progress(`${name}: round ${round} of ${rounds}`, round / rounds)
    },
  })
  const [first = ''] = Object.keys(subjects)
  const timesOf = (subject: string) => times.map((round) => (round[subject] ?? NaN) / per)
  const base = median(timesOf(first))
  return Object.keys(subjects).map((subject) => {
    const own = median(timesOf(subject))
    const ratios = times.map((round) => (round[subject] ?? NaN) / (round[first] ?? NaN))
    const [least, greatest] = [Math.min(...ratios), Math.max(...ratios)]
    return { subject, median: own, ratio: own / base, least, greatest }
  })
}

const number = (value: number) => value.toFixed(2).padStart(8)

function table({ title, unit, note }: Case, rows: Row[]): string {
  const lines = rows.map(({ subject, median, ratio, least, greatest }) => {
    const spread = dim(`(${least.toFixed(2)} to ${greatest.toFixed(2)})`)
    return `  ${subject.padEnd(36)} ${number(median)} ${unit} ${number(ratio)} × ${spread}`
  })
  return ['', title, ...lines, ...(note ? [dim(`  ${wrapped(note, 2)}`)] : [])].join('\n')
}
