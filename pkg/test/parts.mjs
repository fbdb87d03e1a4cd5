// The parts of a built package's core, for tests that look behind its surface.
const NAMES = [
  'signature',
  'guard',
  'stream',
  'history',
  'turn',
  'durable',
  'planning',
  'evidence',
  'plans',
  'chain',
  'tools',
  'proxy',
]

/** The parts of the package in this folder, by name, and how many objects live in all of them. */
export async function partsOf(dist) {
  const load = async (name) => [name, (await import(`${dist}/core/parts/${name}.js`))[name]]
  const parts = Object.fromEntries(await Promise.all(NAMES.map(load)))
  const live = () =>
    Object.values(parts)
      .filter((part) => part.isReady)
      .reduce((all, part) => all + part.call((glue) => glue.live_handles()), 0)
  return { parts, live }
}
