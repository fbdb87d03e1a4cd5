// The tools of this page: a small file system in memory, and one tool with an effect.
import { defineTool } from 'turnlock'

const FILES = {
  'notes.txt': 'Buy milk. Call Ada about the engine.',
  'readme.md': '# Orion\nA ship that answers questions.',
  'log/today.txt': '09:00 engine check ok',
}

export const fileNames = Object.keys(FILES)

/** Notes that were sent: the effect that a tool has. */
export const sent = []

export const tools = {
  list_files: defineTool({
    description: 'Lists the files below a folder.',
    inputSchema: {
      type: 'object',
      properties: { path: { type: 'string' }, recursive: { type: 'boolean' } },
      required: ['path'],
    },
    readOnly: true,
    execute: () => fileNames,
  }),
  read_file: defineTool({
    description: 'Reads one file.',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    readOnly: true,
    execute({ path }) {
      if (!Object.hasOwn(FILES, path)) throw new Error(`there is no file ${path}`)
      return FILES[path]
    },
  }),
  send_note: defineTool({
    description: 'Sends a note to a person.',
    inputSchema: {
      type: 'object',
      properties: { to: { type: 'string' }, text: { type: 'string' } },
      required: ['to', 'text'],
    },
    execute({ to, text }) {
      sent.push({ to, text })
      return { sent: sent.length }
    },
  }),
}
