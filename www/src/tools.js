// The tools of this page: a small file system in memory, and one tool with an effect.
import { defineTool } from 'turnlock'
import { sampleTools } from 'turnlock/testing'
import { recall, remember } from './kept.js'
import { ownTools, resultOf } from './own-tools.js'
import { toolMs } from './settings.js'

/** Notes that were sent: the effect that a tool has. It outlives the page, as effects do. */
export const sent = () => recall('notes', [])

/** Runs of the tools in one turn, counted where they run; the turn has no part in it. */
export const runs = () => Object.entries(recall('runs', {}).tools ?? {})

/** From now on the runs of this turn are counted. */
export const countRunsOf = (requestId) => remember('runs', { requestId, tools: {} })

function count(requestId, name, what) {
  const counted = recall('runs', {})
  // Comparisons use the same tools.
  if (counted.requestId !== requestId) return
  const tool = (counted.tools[name] ??= { started: 0, finished: 0 })
  tool[what]++
  remember('runs', counted)
}

function wait(milliseconds, signal) {
  if (!milliseconds) return
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}

function tool(name, { execute, ...options }) {
  return defineTool({
    ...options,
    async execute(args, { requestId, signal }) {
      count(requestId, name, 'started')
      await wait(toolMs(), signal)
      const result = execute(args, requestId)
      count(requestId, name, 'finished')
      return result
    },
  })
}

const { list_files, read_file } = sampleTools()
const list = tool('list_files', list_files)
const read = tool('read_file', read_file)

const note = {
  description: 'Sends a note to a person.',
  inputSchema: {
    type: 'object',
    properties: { to: { type: 'string' }, text: { type: 'string' } },
    required: ['to', 'text'],
  },
  execute({ to, text }) {
    const all = [...sent(), { to, text }]
    remember('notes', all)
    return { sent: all.length }
  },
}

export const tools = {
  list_files: list,
  read_file: read,
  send_note: tool('send_note', { ...note, needsApproval: true }),
}

/** How often a tool ran in a turn that is not counted, such as a comparison's. */
const uncounted = new Map()

function nthRun(requestId, name) {
  const counted = recall('runs', {})
  if (counted.requestId === requestId) return counted.tools[name].started - 1
  const key = `${requestId} ${name}`
  uncounted.set(key, (uncounted.get(key) ?? -1) + 1)
  return uncounted.get(key)
}

/**
 * The tools of the next turn: the visitor's, or those of the page.
 * @throws Error for a description that is none
 */
export function turnTools() {
  const visitorTools = ownTools()
  if (!visitorTools) return tools
  const made = Object.entries(visitorTools).map(([name, { results, ...options }]) => [
    name,
    tool(name, {
      ...options,
      execute: (_, requestId) => resultOf({ results }, nthRun(requestId, name)),
    }),
  ])
  return Object.fromEntries(made)
}

/** For a comparison, which nobody watches over: it sends nothing. */
const unaskedTools = {
  ...tools,
  send_note: tool('send_note', { ...note, execute: () => ({ sent: 0, comparison: true }) }),
}
export const comparedTools = () => (ownTools() ? turnTools() : unaskedTools)
