/** The canonical signature of a call, as turns compare calls. */
import { signature } from 'turnlock'
import { command } from './command.js'
import { asJson, visible } from './printable.js'

export const sign = command({
  name: 'sign',
  about:
    'The canonical signature of a call. However its arguments are spelled, calls with one signature are one call.',
  positionals: ['NAME', 'ARGS'],
  options: {
    action: { type: 'string', value: 'ACTION', about: 'the action of the tool, if it has several' },
    project: { type: 'string', value: 'ID', about: 'the project that the call belongs to' },
  },
  ends: '0',
  run({ action, project, json }, tool = '', text = '') {
    const signed = signature({ tool, args: text, action, projectId: project })
    console.log(json ? asJson({ tool, signature: signed }) : visible(signed))
    return 0
  },
})
