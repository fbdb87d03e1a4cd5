/** `npx turnlock`: one command a file. Ends with 2 for what cannot be read. */
import { told, type Command } from './command.js'
import { doctor } from './doctor.js'
import { proxy } from './proxy.js'
import { replay } from './replay.js'
import { serve } from './serve.js'
import { sign } from './sign.js'

const COMMANDS: Record<string, Command> = { doctor, proxy, replay, serve, sign }

const usage = () =>
  ['usage:', ...Object.values(COMMANDS).map(({ usage }) => `  ${usage}`)].join('\n')

const [name = '', ...args] = process.argv.slice(2)
const isHelp = ['help', '--help', '-h'].includes(name)
if (isHelp) {
  console.log(usage())
} else if (!Object.hasOwn(COMMANDS, name)) {
  console.error(name ? `turnlock has no command ${name}\n${usage()}` : usage())
  process.exitCode = 2
} else {
  try {
    process.exitCode = (await COMMANDS[name]?.run(args)) ?? 0
  } catch (error) {
    console.error(told(error))
    process.exitCode = 2
  }
}
