// An MCP server of the official SDK, with tools that behave well and badly. As a process it serves
// stdio.
import { appendFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const PIXEL = 'iVBORw0KGgo='
const text = (said) => ({ content: [{ type: 'text', text: said }] })

/**
 * `log` hears what runs, `breaks` ends the connection in the middle of a call, `described` is the
 * description of `add_note`.
 */
export function makeServer({ log, breaks, described = 'Adds a note.' }) {
  const server = new McpServer({ name: 'test', version: '1.0.0' })
  const schema = z.object({ path: z.string().optional(), text: z.string().optional() })
  const tool = (name, config, run) =>
    server.registerTool(name, { inputSchema: schema, ...config }, (args, context) => {
      log(`${name} ${JSON.stringify(args)}`)
      return run(args, context)
    })
  const files = { files: ['notes.txt'] }
  tool(
    'files.list',
    {
      description: 'Lists files.',
      annotations: { readOnlyHint: true },
      outputSchema: z.object({ files: z.array(z.string()) }),
    },
    () => ({ ...text(JSON.stringify(files)), structuredContent: files }),
  )
  tool('add_note', { description: described, annotations: { readOnlyHint: true } }, () =>
    text('added'),
  )
  tool('picture', { description: 'A picture.' }, () => ({
    content: [
      { type: 'text', text: 'Here.' },
      { type: 'image', data: PIXEL, mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'notes://a.txt', mimeType: 'text/plain', text: 'A' } },
      { type: 'resource_link', uri: 'notes://b.txt', name: 'b' },
    ],
  }))
  tool('fails', { description: 'Fails.' }, () => ({ ...text('disk on fire'), isError: true }))
  tool('breaks', { description: 'Breaks.' }, async () => {
    breaks()
    await new Promise(() => {})
  })
  tool('waits', { description: 'Waits.' }, async (_, context) => {
    const signal = context?.mcpReq?.signal ?? context?.signal
    await new Promise((resolve) => signal?.addEventListener('abort', resolve))
    log('waits was told to stop')
    return text('late')
  })
  return server
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const log = (line) => appendFileSync(process.argv[2], `${line}\n`)
  serveStdio(() => makeServer({ log, breaks: () => process.exit(1) }))
}
