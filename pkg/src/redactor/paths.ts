/** Paths of fields: `/a/*` (JSON Pointer) or `a.*`. */

/** A path: names and indexes; `*` is any of them, `**` any number. */
export interface Path {
  readonly step: string
  readonly rest: Path | undefined
}

export const pathOf = (text: string): Path =>
  stepsOf(text).reduceRight<Path | undefined>((rest, step) => ({ step, rest }), undefined)!

export const stepsOf = (text: string): string[] =>
  text.startsWith('/')
    ? text
        .slice(1)
        .split('/')
        .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    : text.split('.')

/** What is left of paths behind a name, each once; and whether one of them ends there. */
export function behindName(paths: Iterable<Path>, name: string) {
  const open = new Set<Path>()
  let ends = false
  const take = ({ step, rest }: Path) => {
    if (step !== '*' && step !== name) return
    if (rest) open.add(rest)
    else ends = true
  }
  for (const path of paths) {
    let last: Path | undefined = path
    for (; last?.step === '**'; last = last.rest) {
      open.add(last)
      if (!last.rest) ends = true
    }
    if (last) take(last)
  }
  return { open, ends }
}
