/** `@cfworker/json-schema` (MIT), bundled at build time so that the package has no dependency. */
export class Validator {
  constructor(schema: object, draft: '2020-12', shortCircuit: boolean)
  shortCircuit: boolean
  /** Schemas by the addresses that `$ref` names. */
  lookup: Record<string, object | boolean | undefined>
  validate(instance: unknown): {
    valid: boolean
    errors: { instanceLocation: string; error: string }[]
  }
}
