/** What a server says of a tool, as far as it can be trusted: nothing of it is run or followed. */
import { isObject } from '../../checks.js'
import { isTurnlockError, TurnlockError } from '../../errors.js'
import { member } from '../../shared/quietly.js'
import { describe } from '../../shared/serialize.js'
import { stringify, withoutControls } from '../../shared/text.js'
import { signature } from '../../signature.js'
import { validatorOf } from '../../tools/validate.js'
import { completeSchema, withNull } from '../../tools/complete-schema.js'
import type { JsonSchema, StandardSchema } from '../../tools/tools.js'

/** A definition, checked. All of it is plain JSON of this package's own making. */
export interface Definition {
  name: string
  description: string
  /** What the model reads, with the regular expressions of the server. */
  jsonSchema: JsonSchema
  /** The check of arguments, without them: some take minutes, and no time-out ends them. */
  inputSchema: StandardSchema
  hints: { readOnly: boolean; idempotent: boolean }
}

/** A definition of the list, or the reason why it has no fingerprint. */
export type Listed = { json: string; fingerprint: string } | TurnlockError

/**
 * The definitions of a list by name, each with its fingerprint: a hash of all that a model or a host
 * reads of a tool. `unnamed` are entries that are no definitions.
 */
export function readList(list: readonly unknown[]) {
  const byName = new Map<string, Listed>()
  const unnamed: TurnlockError[] = []
  for (const [at, raw] of list.entries()) {
    const name = member(raw, 'name')
    if (!isObject(raw) || typeof name !== 'string') {
      unnamed.push(invalid(`entry ${at} of the server's list of tools has no name`))
    } else if (byName.has(name)) {
      // Which of them a call would reach is up to the server.
      byName.set(name, invalid('the server has more than one tool of this name'))
    } else if (name === '') {
      // No provider takes a tool without a name, and none of its characters could stand for it.
      byName.set(name, invalid('the name of the tool is empty'))
    } else {
      byName.set(name, fingerprinted(name, raw))
    }
  }
  return { byName, unnamed }
}

const invalid = (why: string) => new TurnlockError('mcp.invalid_definition', why)

function fingerprinted(name: string, raw: Record<string, unknown>): Listed {
  try {
    const { title, description, inputSchema, outputSchema, annotations } = raw
    // Read once: what is used has this fingerprint.
    const json = stringify({ title, description, inputSchema, outputSchema, annotations })
    return { json, fingerprint: signature({ tool: name, args: json }) }
  } catch (error) {
    return isTurnlockError(error) ? error : invalid(describe(error))
  }
}

/**
 * Reads a definition that has a fingerprint, so it is JSON of at most 128 levels. Characters without a
 * glyph are taken out of its descriptions: a reviewer would not see what the model reads. An output
 * schema is not used.
 *
 * @throws TurnlockError `tool.invalid_schema`
 */
export function readDefinition(name: string, json: string): Definition {
  const { title, description, inputSchema, annotations } = parse(json)
  if (!isObject(inputSchema)) {
    throw new TurnlockError('tool.invalid_schema', '`inputSchema`: expected a JSON Schema')
  }
  const jsonSchema = completeSchema(inputSchema)
  if (![jsonSchema['type']].flat().includes('object')) {
    throw new TurnlockError('tool.invalid_schema', '`inputSchema`: `type` must be "object"')
  }
  const schema = withNull(jsonSchema)
  const validate = validatorOf(schema, { option: 'inputSchema', foreign: true })
  const hint = (key: string) => isObject(annotations) && annotations[key] === true
  const texts = [description, title].filter((text) => typeof text === 'string')
  return {
    name,
    description: texts[0] ?? name,
    jsonSchema,
    inputSchema: {
      '~standard': {
        version: 1,
        vendor: 'mcp',
        validate(args) {
          const { valid, errors } = validate(args)
          if (valid) return { value: args }
          const lines = errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`)
          return { issues: lines.map((message) => ({ message })) }
        },
      },
    },
    hints: { readOnly: hint('readOnlyHint'), idempotent: hint('idempotentHint') },
  }
}

function parse(json: string): Record<string, unknown> {
  return JSON.parse(json, (key, value: unknown) =>
    typeof value === 'string' && (key === 'description' || key === 'title')
      ? withoutControls(value)
      : value,
  ) as Record<string, unknown>
}
