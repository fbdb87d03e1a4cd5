/** The canonical signature of a call, as turns compare calls. */
import { signature } from 'turnlock'
import { read, Usage, type Command } from './command.js'

const usage = 'turnlock sign NAME ARGS [--action ACTION] [--project ID] [--json]'

export const sign: Command = {
  usage,
  run(args) {
    const { values, positionals } = read(
      args,
      {
        action: { type: 'string' },
        project: { type: 'string' },
        json: { type: 'boolean', default: false },
      },
      usage,
    )
    const [tool, text, ...more] = positionals
    if (!tool || text === undefined || more.length) throw new Usage(`usage: ${usage}`)
    const signed = signature({ tool, args: text, action: values.action, projectId: values.project })
    console.log(values.json ? JSON.stringify({ tool, signature: signed }) : signed)
    return 0
  },
}
