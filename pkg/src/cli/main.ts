/** `turnlock sign NAME ARGS [--json]`: the canonical signature of a call, as turns compare calls. */
import { parseArgs } from 'node:util'
import { isTurnlockError, signature } from 'turnlock'

const USAGE = 'usage: turnlock sign NAME ARGS [--action ACTION] [--project ID] [--json]'

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      action: { type: 'string' },
      project: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  })
  const [command, tool, args, ...more] = positionals
  if (command !== 'sign' || !tool || args === undefined || more.length) throw new Error(USAGE)
  const signed = signature({ tool, args, action: values.action, projectId: values.project })
  console.log(values.json ? JSON.stringify({ tool, signature: signed }) : signed)
} catch (error) {
  const { message } = error as Error
  console.error(isTurnlockError(error) ? `${error.code}: ${message}` : message)
  process.exitCode = 2
}
