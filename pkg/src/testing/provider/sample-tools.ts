/** The tools that behaviours call: a small file system in memory. */
const FILES: Readonly<Record<string, string>> = {
  'notes.txt': 'Buy milk. Call Ada about the engine.',
  'readme.md': '# Orion\nA ship that answers questions.',
  'log/today.txt': '09:00 engine check ok',
}

const LIST_FILES = {
  description: 'Lists the files below a folder.',
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string' }, recursive: { type: 'boolean' } },
    required: ['path'],
  },
  readOnly: true,
  execute: (): string[] => Object.keys(FILES),
} as const

const READ_FILE = {
  description: 'Reads one file.',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  readOnly: true,
  execute({ path }: { path: string }): string {
    const text = Object.hasOwn(FILES, path) ? FILES[path] : undefined
    if (text === undefined) throw new Error(`there is no file ${path}`)
    return text
  },
} as const

/**
 * Returns options of `defineTool` for the tools that behaviours call: `list_files` and `read_file`, of
 * three files in memory.
 *
 * @example
 * const { list_files, read_file } = sampleTools()
 * const tools = { list_files: defineTool(list_files), read_file: defineTool(read_file) }
 */
export const sampleTools = () => ({ list_files: LIST_FILES, read_file: READ_FILE })
