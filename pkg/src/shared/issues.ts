/** What a Standard Schema says of a value. */

interface Issue {
  readonly message: string
  readonly path?: readonly unknown[] | undefined
}

/** An issue as a line: where, and what is wrong. A step of a path may be an object with a `key`. */
export function issueLine({ message, path = [] }: Issue): string {
  const steps = path.map((one) => `/${String((one as { key?: unknown } | null)?.key ?? one)}`)
  return (steps.length ? `${steps.join('')}: ` : '') + message
}
