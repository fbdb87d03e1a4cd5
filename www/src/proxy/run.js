// The looping client of the race, unchanged, at a proxy in this page.
import { createProxy } from 'turnlock/proxy'
import { loop, scripted, sum } from '../race/run.js'

/** @returns what the steps come to, and the proxy's reports in order */
export async function runBehind(behaviour, cap, { mode, maxRepeats, maxTools }) {
  const model = scripted(behaviour)
  const reports = []
  const proxy = createProxy({
    upstream: { url: model.baseURL },
    mode,
    policy: { maxRepeats, ...(maxTools !== undefined && { maxTools }) },
    authorize: () => ({ tenant: 'page' }),
    fetch: model.fetch,
    onReport: (report) => reports.push(report),
  })
  /** Refusals that no step shows yet. */
  let reported = 0
  const before = (steps) => {
    for (const { blocked, forced, mode } of reports.slice(reported)) {
      reported++
      if (mode !== 'bound') continue
      for (const refused of blocked) steps.push({ kind: 'refused', forced, ...refused })
      // Behind a refused call the proxy asks for the answer itself.
      if (forced && blocked.length) steps.push({ kind: 'model', forced })
    }
  }
  // The client changes its address, and nothing else.
  const baseURL = `${location.origin}/llm/v1`
  const fetch = (url, { body }) => proxy(new Request(url.replace('/llm/', '/'), requestInit(body)))
  const client = { ...model, baseURL, fetch }
  const steps = await loop({ model: client, cap, before })
  // A report comes when its response has been read, so after the last step it is still to come.
  await new Promise((resolve) => setTimeout(resolve))
  const last = steps.pop()
  before(steps)
  steps.push(last)
  return { ...sum(steps, model.bytes), reports }
}

const requestInit = (body) => ({
  method: 'POST',
  body,
  headers: { 'content-type': 'application/json' },
})

/** What changes for a client, and what the owner of the proxy writes. */
export const codeOf = ({ mode, maxRepeats, maxTools }) => {
  const policy =
    maxTools === undefined
      ? `{ maxRepeats: ${maxRepeats} }`
      : `{ maxRepeats: ${maxRepeats}, maxTools: ${maxTools} }`
  return `// The client: one address.
const client = new OpenAI({ baseURL: 'https://edge.example/llm/v1', apiKey: sessionToken })

// The edge worker.
import { createProxy } from 'turnlock/proxy'

const proxy = createProxy({
  upstream: { url: 'https://api.openai.com/v1', apiKey: env.OPENAI_API_KEY },
  basePath: '/llm',
  mode: '${mode}',${mode === 'bound' ? `\n  policy: ${policy},` : ''}
  authorize: (request) => sessionOf(request), // { tenant } or null
  onReport: ({ repairs, blocked, forced }) => log(repairs, blocked, forced),
})
export default { fetch: (request, env, context) => proxy(request, context) }`
}
