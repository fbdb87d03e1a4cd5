/** `@cfworker/json-schema` (MIT), bundled at build time so that the package has no dependency. */

/** Schemas by the addresses that `$ref` names. */
export type Lookup = Record<string, object | boolean | undefined>

/** The schemas within a schema. It keeps in each where its references lead. */
export function dereference(
  schema: object | boolean,
  lookup?: Lookup,
  base?: URL,
  pointer?: string,
): Lookup

/** A pattern as a regular expression, with `u` where it can be one. @throws SyntaxError */
export function regexOf(pattern: string): RegExp

/** `shortCircuit`: stops at the first error. */
export function validate(
  instance: unknown,
  schema: object,
  draft: '2020-12',
  lookup: Lookup,
  shortCircuit: boolean,
): { valid: boolean; errors: { instanceLocation: string; error: string }[] }
