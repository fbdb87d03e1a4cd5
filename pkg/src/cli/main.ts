/** `npx turnlock`: one command a file. Ends with 2 for what cannot be read. */
import { suggestion, Usage } from './command.js'
import { doctor } from './doctor.js'
import { help, overview, version } from './help.js'
import { asJson } from './printable.js'
import { proxy } from './proxy.js'
import { replay } from './replay.js'
import { serve } from './serve.js'
import { sign } from './sign.js'
import { complain } from './terminal.js'

const COMMANDS = [doctor, replay, proxy, serve, sign]

function find(name: string) {
  const found = COMMANDS.find((command) => command.name === name)
  if (found) return found
  const names = COMMANDS.map((command) => command.name)
  throw new Usage(
    `there is no command ${name}${suggestion(name, names)}`,
    overview(COMMANDS, false),
  )
}

async function main([name = '', ...args]: string[], json: boolean): Promise<number> {
  const print = (text: string) => {
    console.log(text)
    return 0
  }
  if (['--version', '-v'].includes(name)) {
    return print(json ? asJson({ version }) : version)
  }
  if (['help', '--help', '-h'].includes(name)) {
    const [about] = args.filter((word) => !word.startsWith('-'))
    return print(about === undefined ? overview(COMMANDS, json) : help(find(about), json))
  }
  if (!name || name === '--json') throw new Usage('which command?', overview(COMMANDS, false))
  const command = find(name)
  const options = args.slice(0, args.includes('--') ? args.indexOf('--') : undefined)
  if (options.some((word) => word === '--help' || word === '-h')) return print(help(command, json))
  return command.run(args)
}

const args = process.argv.slice(2)
const json = args.includes('--json')
// What cannot be written is not done either. Whoever closes the pipe (`| head`) has read enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(process.exitCode ?? 0)
  complain(error, json)
  process.exit(2)
})
try {
  process.exitCode = await main(args, json)
} catch (error) {
  complain(error, json)
  process.exitCode = 2
}
