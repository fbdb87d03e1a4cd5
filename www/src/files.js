// A small file system in memory, and the tools that read it, as options of `defineTool`.
const FILES = {
  'notes.txt': 'Buy milk. Call Ada about the engine.',
  'readme.md': '# Orion\nA ship that answers questions.',
  'log/today.txt': '09:00 engine check ok',
}

export const fileNames = Object.keys(FILES)

export const LIST_FILES = {
  description: 'Lists the files below a folder.',
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string' }, recursive: { type: 'boolean' } },
    required: ['path'],
  },
  readOnly: true,
  execute: () => fileNames,
}

export const READ_FILE = {
  description: 'Reads one file.',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  readOnly: true,
  execute({ path }) {
    if (!Object.hasOwn(FILES, path)) throw new Error(`there is no file ${path}`)
    return FILES[path]
  },
}

/** What a test case says of tools. */
export const declared = (tools) =>
  Object.entries(tools).map(([name, { description, inputSchema, readOnly, needsApproval }]) => ({
    ...{ name, description, inputSchema },
    ...(readOnly && { readOnly }),
    ...(needsApproval && { needsApproval }),
  }))
