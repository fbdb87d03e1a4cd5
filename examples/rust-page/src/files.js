// What the tools of the page can reach, and one of them: a JavaScript function, as a page may have
// it already.
const FILES = {
  'notes.txt': 'Buy milk. Call Ada about the engine.',
  'readme.md': '# Orion\nA ship that answers questions.',
  'log/today.txt': '09:00 engine check ok',
}

export const fileNames = () => Object.keys(FILES)

export function readFile({ path }) {
  if (!Object.hasOwn(FILES, path)) throw new Error(`there is no file ${path}`)
  return FILES[path]
}
