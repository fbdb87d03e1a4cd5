// A handler behind HTTP that also serves files, behind a gateway that answers in its place, and a proxy
// that breaks connections.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { existsSync, readFileSync } from 'node:fs'
import { extname, join, normalize } from 'node:path'
import { customModel, defineTool, memoryStore } from 'turnlock'
import { createHandler, toNodeListener } from 'turnlock/server'
import { breaking } from '../breaking.mjs'
import { gateway } from '../gateway.mjs'

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' }
const WORDS = 40
/** The tool that the model calls for a message. */
const CALLS = {
  note: 'note',
  'ask first': 'careful',
  'where am I': 'locate',
  'stay here': 'linger',
}

/** Serves `folder`, and a handler below `/api/chat` whose connections break where `cut` says. */
export async function edge(folder) {
  const [runs, seen] = [[], []]
  const note = (more) =>
    defineTool({
      description: 'd',
      inputSchema: { type: 'object' },
      ...more,
      execute: (args) => (runs.push(args), { noted: args }),
    })
  const model = customModel(async function* ({ messages }, { signal }) {
    const asked = messages.findLast(({ role }) => role === 'user').content
    seen.push(messages)
    const settled = messages.some(({ content }) => String(content).includes('TOOL RESULT'))
    if (!settled && Object.hasOwn(CALLS, asked)) {
      yield { type: 'text', text: 'I look. ' }
      const name = CALLS[asked]
      yield { type: 'tool_call_start', index: 0, id: `c${seen.length}`, name }
      yield { type: 'tool_call_arguments', index: 0, text: '{"n":1}' }
      return yield { type: 'tool_call_end', index: 0 }
    }
    if (asked === 'break') throw new Error('no model today')
    if (asked === 'wait') {
      yield { type: 'text', text: 'one ' }
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    }
    for (let n = 0; n < WORDS; n++) {
      await new Promise((resolve) => setTimeout(resolve, 1))
      yield { type: 'text', text: `word ${n} ` }
    }
  })
  const locate = defineTool({ description: 'd', inputSchema: { type: 'object' } })
  const linger = locate
  let later = 0
  const handler = createHandler({
    model,
    store: memoryStore({ now: () => performance.now() + later }),
    authorize: ({ headers }) => ({
      tenant: /tenant=(\w+)/.exec(headers.get('cookie') ?? '')?.[1] ?? 't',
    }),
    tools: { note: note(), careful: note({ needsApproval: true }), locate, linger },
  })
  const answer = toNodeListener(handler)
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://x')
    if (pathname.startsWith('/api/')) return answer(request, response)
    const file = join(folder, normalize(pathname === '/' ? '/index.html' : pathname))
    if (!existsSync(file)) return response.writeHead(404).end()
    const type = TYPES[extname(file)] ?? 'application/octet-stream'
    response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(readFileSync(file))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  /** How many bytes each of the next connections carries back. */
  const budgets = []
  const statuses = []
  const matches = (request) => /^POST .api.chat(.resume)?$/.test(request)
  const front = await gateway(server.address().port, statuses, { matches })
  const proxy = await breaking(front.server.address().port, budgets)
  return {
    runs,
    seen,
    text: Array.from({ length: WORDS }, (_, n) => `word ${n} `).join(''),
    url: `${proxy.url}/`,
    /** New connections only: those that the browser keeps open are closed. */
    cut(...bytes) {
      budgets.push(...bytes)
      front.server.closeIdleConnections()
    },
    /** The gateway's answers to the next requests that start or resume a turn, which arrive. */
    fail: (...answers) => void statuses.push(...answers),
    broken: proxy.broken,
    /** Lets time pass for the store. */
    wait: (ms) => (later += ms),
    close() {
      server.closeAllConnections()
      server.close()
      front.close()
      proxy.close()
    },
  }
}
