// The data that others wrote: `tests/data`, and nothing outside of the project.
const folder = new URL('data/', import.meta.url)

/** The address of a file or folder of `tests/data`; `path` stays inside. */
export function data(path) {
  const found = new URL(path, folder)
  if (!found.href.startsWith(folder.href)) throw new Error(`${path} is not inside tests/data`)
  return found
}
