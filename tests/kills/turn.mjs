// The turn that is killed: one call of one tool whose effect is a request to the receiver, then
// an answer in pieces. The same for who begins it and for who goes on with it.
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { customModel, defineTool } from 'turnlock'

export const LEASE_MS = 100
const ANSWER = ['The ', 'lamp ', 'was ', 'switched ', 'on.']
/** What a tool may declare about being run again. */
export const KINDS = {
  plain: {},
  readOnly: { readOnly: true },
  idempotent: { idempotent: true },
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** On the disk before anything else happens. */
function note(spec, start) {
  const file = openSync(join(spec.folder, `${spec.trial}.starts`), 'a')
  writeSync(file, `${JSON.stringify(start)}\n`)
  fsyncSync(file)
  closeSync(file)
}

/**
 * The options of `runTurn` and `resumeTurn`.
 * @param {{ trial: string, folder: string, receiver: string, kind: keyof typeof KINDS, hold?: boolean }} spec
 * @param {(landmark: string) => unknown} at called at each landmark; what it returns is waited for
 */
export function partsOf(spec, at = () => {}) {
  const model = customModel(async function* (request) {
    if (request.tools?.length) {
      yield { type: 'text', text: 'Let me see. ' }
      yield { type: 'tool_call_start', index: 0, id: 'call_1', name: 'act' }
      yield { type: 'tool_call_arguments', index: 0, text: '{"lamp":"kitchen"}' }
      yield { type: 'tool_call_end', index: 0 }
      return
    }
    await at('answer asked for')
    for (const [place, text] of ANSWER.entries()) {
      yield { type: 'text', text }
      // Beyond the time for which text gathers, so that the first pieces are kept.
      await pause(12)
      if (place === 3) await at('in the answer')
    }
  })
  const act = defineTool({
    description: 'Switches a lamp on.',
    inputSchema: { type: 'object' },
    ...KINDS[spec.kind],
    async execute(_, { idempotencyKey: key, toolCallId: callId }) {
      const effect = { key, callId, pid: process.pid }
      note(spec, effect)
      await at('tool started')
      const body = JSON.stringify({ trial: spec.trial, ...effect, hold: spec.hold })
      const response = await fetch(spec.receiver, { method: 'POST', body })
      return response.json()
    },
  })
  return { model, tools: { act }, requestId: spec.trial }
}
