// The decisions that a turn needs when it ends or waits.
import { many } from '../dom.js'
import { revisions } from './decision-view.js'

/**
 * How a turn stands when no more events come.
 * @param {object | undefined} error the error of its run
 * @param {object | undefined} lastEvent
 * @param {boolean} isCurrent whether it is remembered as the turn under way
 * @returns {'refused' | 'ended' | 'cancelled' | 'forgotten' | 'interrupted' | 'failed' | 'approval' | 'paused'}
 */
export function standing(error, lastEvent, isCurrent) {
  const { type, approvals, code = '' } = lastEvent ?? {}
  if (error?.code === 'turn.cancelled') return 'refused'
  if (type === 'complete') return 'ended'
  if (type === 'cancelled') return 'cancelled'
  if (!isCurrent) return 'forgotten'
  if (error?.code === 'turn.interrupted') return 'interrupted'
  if (error || code.startsWith('model.')) return 'failed'
  if (type === 'paused') return approvals ? 'approval' : 'paused'
  return 'ended'
}

/**
 * What is shown for a standing, as `showDecision` takes it. `error` is a text; `resume` and `stop` do
 * what the buttons say.
 */
const DECISIONS = {
  refused: ({ error }) => ({ title: 'The resume was refused', about: `${error}.` }),
  cancelled: (turn) => ({
    title: 'Stopped',
    about: 'It cannot go on any more, in no tab. See for yourself:',
    choices: [resumeChoice('Try to resume', turn)],
  }),
  interrupted: (turn) => ({
    title: 'Interrupted',
    about: 'Its endpoint and key were in memory only: give them again, then resume.',
    choices: [resumeChoice('Resume', turn), stopChoice(turn)],
  }),
  failed: (turn) => ({
    title: 'Not answered',
    about: turn.error ? `${turn.error}.` : aboutRetry(turn),
    choices: [resumeChoice('Try again', turn)],
  }),
  paused: (turn) => ({
    title: 'Paused behind the tools',
    about: `${many(turn.settledCalls.length, 'result')} kept. Reload the page if you like: no tool runs again. You decide what the model reads.`,
    items: turn.settledCalls.map(({ call, result }) => ({
      call,
      result,
      mayChange: result.status === 'ok',
      mayWrite: !turn.isEdge,
    })),
    choices: [{ ...resumeChoice('Resume', turn), primary: true }, stopChoice(turn)],
  }),
  approval: ({ approvals, resume, stop }) => {
    const isOne = approvals.length <= 1
    const all = isOne ? '' : ' all'
    const settle = (approved) => () =>
      resume({ approvals: approvals.map(({ signature }) => ({ signature, approved })) })
    return {
      title: isOne ? 'Run this call?' : `Run these ${approvals.length} calls?`,
      about: 'It has not run. An approval is for these very arguments.',
      items: approvals.map((call) => ({ call })),
      choices: [
        { label: `Approve${all}`, primary: true, act: settle(true) },
        { label: `Refuse${all}`, act: settle(false) },
        stopChoice({ stop }),
      ],
    }
  },
}

/** The decision for a standing; `undefined` if there is none. */
export const decisionFor = (name, turn) => DECISIONS[name]?.(turn)

const resumeChoice = (label, { resume }) => ({
  label,
  act: () => resume({ results: revisions() }),
})

const stopChoice = ({ stop }) => ({ label: 'Stop', act: stop })

const aboutRetry = ({ settledCalls }) =>
  `${settledCalls.length ? 'What the tools found is kept; the' : 'No tool has run. The'} model is asked again.`
