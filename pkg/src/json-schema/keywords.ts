/** The keywords of JSON Schema as checks. */
import { isObject } from '../checks.js'
import {
  fragmentOf,
  isPointer,
  memberOf,
  type Check,
  type Compiler,
  type Schema,
  type SchemaNode,
} from './compile.js'
import { FORMATS } from './formats.js'
import { regexOf, MOST_MATCHED } from './regex.js'
import { MAYBE, NO, Seen, Unusable, YES, type Path, type Result, type Run } from './run.js'
import { isMultiple, keyOf, lengthOf, typeOf } from './values.js'

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

/** Characters of expected values in an error. */
const MOST_SHOWN = 200
const shortJson = (value: unknown) => {
  const text = JSON.stringify(value)
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text
}

const least = (a: Result, b: Result): Result => (a < b ? a : b)

/** Adds the checks of a schema to its node. */
export function checksOf(
  raw: Record<string, unknown>,
  node: SchemaNode,
  at: string,
  compiler: Compiler,
): void {
  const { checks, resource } = node
  const breaks = (name: string, expected: string) =>
    compiler.breaks(node, `the schema's \`${name}\` at ${at} must be ${expected}`)
  const has = (name: string) => memberOf(raw, name) !== undefined

  const schema = (name: string, value = memberOf(raw, name), below = name): Schema | undefined => {
    if (value === undefined) return undefined
    const found = compiler.schema(value, resource, `${at}/${below}`)
    if (found === undefined) breaks(below, 'a schema')
    return found
  }
  const schemas = (name: string): Schema[] | undefined => {
    const value = memberOf(raw, name)
    if (value === undefined) return undefined
    if (!Array.isArray(value)) return void breaks(name, 'a list of schemas')
    return value.map((item, index) => schema(name, item ?? null, `${name}/${index}`) ?? true)
  }
  const members = <T>(name: string, read: (value: unknown, key: string) => T): [string, T][] => {
    const value = memberOf(raw, name)
    if (value === undefined) return []
    if (!isObject(value)) {
      breaks(name, 'an object')
      return []
    }
    return Object.entries(value).map(([key, member]) => [key, read(member, key)])
  }
  const schemaMembers = (name: string) =>
    members(name, (value, key) => schema(name, value ?? null, `${name}/${key}`) ?? true)
  const number = (name: string): number | undefined => {
    const value = memberOf(raw, name)
    if (value === undefined || typeof value === 'number') return value
    return void breaks(name, 'a number')
  }
  const names = (name: string, value = memberOf(raw, name)): string[] => {
    if (value === undefined) return []
    if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value
    breaks(name, 'a list of names')
    return []
  }

  // References and conditions, of values of every type.
  reference('$ref')
  reference('$dynamicRef')
  reference('$recursiveRef')
  typeKeyword()
  values('enum')
  values('const')
  const inner = schema('not')
  if (inner !== undefined) checks.push(not(inner))
  for (const [name, check] of [
    ['allOf', allOf],
    ['anyOf', anyOf],
    ['oneOf', oneOf],
  ] as const) {
    const list = schemas(name)
    if (list) checks.push(check(list))
  }
  const condition = schema('if')
  const [whenTrue, whenFalse] = [schema('then') ?? true, schema('else') ?? true]
  if (condition !== undefined) checks.push(ifThenElse(condition, whenTrue, whenFalse))

  objectKeywords()
  arrayKeywords()
  numberKeywords()
  stringKeywords()
  // What no other keyword has evaluated.
  const rest = { names: schema('unevaluatedProperties'), items: schema('unevaluatedItems') }
  if (rest.names !== undefined || rest.items !== undefined) {
    compiler.notes = true
    checks.push(unevaluated(rest.names, rest.items))
  }
  // For references alone. What else stands there is data.
  for (const name of ['$defs', 'definitions']) {
    for (const [key, value] of Object.entries(Object(memberOf(raw, name)) as object)) {
      compiler.schema(value, resource, `${at}/${name}/${key}`)
    }
  }

  function reference(name: string): void {
    const to = memberOf(raw, name)
    if (to === undefined) return
    if (typeof to !== 'string') return breaks(name, 'a URI reference')
    let target: Schema = true
    let anchor: string | undefined
    compiler.refer(resource, to, (found, from) => {
      target = typeof found === 'boolean' ? found : compiler.node(found as never, from, to)
      const fragment = name === '$ref' ? undefined : fragmentOf(to)
      if (name === '$recursiveRef') anchor = ''
      else if (fragment && !isPointer(fragment)) anchor = fragment
    })
    checks.push((run, value, path, seen) => {
      let schema = target
      const isDynamic =
        anchor !== undefined &&
        typeof target === 'object' &&
        target.resource.dynamic.get(anchor) === target
      if (isDynamic) {
        run.spend(run.scope.length)
        const outer = run.scope.find(({ dynamic }) => dynamic.has(anchor!))
        schema = outer?.dynamic.get(anchor!) ?? target
      }
      return branch(run, schema, value, path, seen)
    })
  }

  function typeKeyword(): void {
    if (!has('type')) return
    const types = [memberOf(raw, 'type')].flat()
    if (!types.every((type) => TYPES.includes(type as string))) return breaks('type', 'a JSON type')
    checks.push((run, value, path) => {
      const type = typeOf(value)
      if (types.includes(type)) return YES
      if (type === 'number' && types.includes('integer') && Number.isInteger(value)) return YES
      return run.fail(path, () => `expected type ${types.join(' or ')}, got ${type}`)
    })
  }

  function values(name: 'enum' | 'const'): void {
    if (!Object.hasOwn(raw, name)) return
    const list = name === 'const' ? [raw[name]] : raw[name]
    if (!Array.isArray(list)) return breaks(name, 'a list')
    const simple = new Set(list.filter((value) => typeof value !== 'object' || value === null))
    const complex = list.filter((value) => typeof value === 'object' && value !== null)
    const keys = new Set(complex.map((value) => keyOf(value)))
    checks.push((run, value, path) => {
      const isSimple = typeof value !== 'object' || value === null
      const isFound = isSimple ? simple.has(value) : keys.size > 0 && keys.has(keyOf(value, run))
      if (isFound) return YES
      const expected = () => (name === 'const' ? shortJson(list[0]) : `one of ${shortJson(list)}`)
      return run.fail(path, () => `expected ${expected()} (\`${name}\`)`)
    })
  }

  function objectKeywords(): void {
    const required = names('required')
    if (required.length > 0) checks.push(requires(required, ''))
    const [fewest, most] = [number('minProperties'), number('maxProperties')]
    if (fewest !== undefined || most !== undefined) checks.push(sizes(fewest, most, 'properties'))
    const nameSchema = schema('propertyNames')
    if (nameSchema !== undefined) checks.push(propertyNames(nameSchema))
    const lists = members('dependentRequired', (value) => names('dependentRequired', value ?? null))
    const dependent = schemaMembers('dependentSchemas')
    for (const [key, value] of members('dependencies', (value) => value)) {
      if (Array.isArray(value)) lists.push([key, names('dependencies', value)])
      else
        dependent.push([key, schema('dependencies', value ?? null, `dependencies/${key}`) ?? true])
    }
    for (const [key, list] of lists) checks.push(when(key, requires(list, ` with "${key}"`)))
    for (const [key, schema] of dependent) {
      checks.push(when(key, (run, value, path, seen) => branch(run, schema, value, path, seen)))
    }
    const properties = schemaMembers('properties')
    const patterns = patternProperties()
    const additional = schema('additionalProperties')
    if (properties.length > 0 || patterns.length > 0 || additional !== undefined) {
      checks.push(propertiesCheck(new Map(properties), patterns, additional))
    }
  }

  /** Without regular expressions, each name may match. */
  function patternProperties(): [RegExp | undefined, Schema][] {
    // Also of another form: a list would become an expression of its texts.
    if (!compiler.patterns) return has('patternProperties') ? [[undefined, true]] : []
    return schemaMembers('patternProperties').map(([name, schema]) => [regexOf(name), schema])
  }

  function arrayKeywords(): void {
    const [fewest, most] = [number('minItems'), number('maxItems')]
    if (fewest !== undefined || most !== undefined) checks.push(sizes(fewest, most, 'items'))
    if (memberOf(raw, 'uniqueItems')) checks.push(uniqueItems)
    const isList = Array.isArray(memberOf(raw, 'items'))
    const prefix = [...(schemas('prefixItems') ?? []), ...((isList && schemas('items')) || [])]
    // `additionalItems` counts beside a list alone.
    const after = isList ? schema('additionalItems') : schema('items')
    if (prefix.length > 0 || after !== undefined) checks.push(items(prefix, after))
    const contained = schema('contains')
    const [minimum, maximum] = [number('minContains') ?? 1, number('maxContains') ?? Infinity]
    if (contained !== undefined) checks.push(contains(contained, minimum, maximum))
  }

  function numberKeywords(): void {
    const bound = (
      name: string,
      holds: (value: number, limit: number) => boolean,
      words: string,
    ) => {
      const limit = number(name)
      if (limit === undefined) return
      checks.push((run, value, path) =>
        typeof value !== 'number' || holds(value, limit)
          ? YES
          : run.fail(path, () => `expected a number ${words} ${limit} (\`${name}\`)`),
      )
    }
    // Draft 4, and with it OpenAPI 3.0: whether the limit itself is excluded.
    const excludes = (name: string) => typeof memberOf(raw, name) === 'boolean'
    const isAbove = (value: number, limit: number) => value > limit
    const isBelow = (value: number, limit: number) => value < limit
    const strictly = (name: string) => memberOf(raw, name) === true
    if (strictly('exclusiveMinimum')) bound('minimum', isAbove, 'over')
    else bound('minimum', (value, limit) => value >= limit, 'of at least')
    if (strictly('exclusiveMaximum')) bound('maximum', isBelow, 'below')
    else bound('maximum', (value, limit) => value <= limit, 'of at most')
    if (!excludes('exclusiveMinimum')) bound('exclusiveMinimum', isAbove, 'over')
    if (!excludes('exclusiveMaximum')) bound('exclusiveMaximum', isBelow, 'below')
    bound('multipleOf', isMultiple, 'that is a multiple of')
  }

  function stringKeywords(): void {
    const [shortest, longest] = [number('minLength') ?? 0, number('maxLength') ?? Infinity]
    if (shortest > 0 || longest < Infinity) {
      checks.push(
        text((run, value, path) => {
          const length = lengthOf(value, shortest, longest, run)
          if (length < shortest) return run.fail(path, () => `shorter than ${shortest} characters`)
          if (length > longest) return run.fail(path, () => `longer than ${longest} characters`)
          return YES
        }),
      )
    }
    if (has('pattern')) pattern(memberOf(raw, 'pattern'))
    const name = memberOf(raw, 'format')
    const format = FORMATS.get(name)
    if (name === 'regex') checks.push(compiler.patterns ? regexFormat : text(() => MAYBE))
    if (!format) return
    checks.push(
      text((run, value, path) => {
        run.read(value)
        return format(value) ? YES : run.fail(path, () => `expected the format "${String(name)}"`)
      }),
    )
  }

  function pattern(source: unknown): void {
    if (!compiler.patterns) return void checks.push(text(() => MAYBE))
    if (typeof source !== 'string') return breaks('pattern', 'a text')
    const regex = regexOf(source)
    checks.push(
      text((run, value, path) => {
        run.read(value)
        if (value.length > MOST_MATCHED) {
          return run.fail(
            path,
            () => `longer than the ${MOST_MATCHED} characters on which a \`pattern\` is tried`,
          )
        }
        return regex.test(value)
          ? YES
          : run.fail(path, () => `does not match the pattern ${shortJson(source)}`)
      }),
    )
  }
}

/** A check of texts. */
const text =
  (check: (run: Run, value: string, path: Path) => Result): Check =>
  (run, value, path) =>
    typeof value === 'string' ? check(run, value, path) : YES

const regexFormat = text((run, value, path) => {
  if (value.length > MOST_MATCHED) return MAYBE
  try {
    new RegExp(value, 'u')
    return YES
  } catch {
    return run.fail(path, () => 'expected the format "regex"')
  }
})

const not =
  (schema: Schema): Check =>
  (run, value, path) => {
    const result = run.attempt(
      () => run.evaluate(schema, value, path),
      () => false,
    )
    return result === YES
      ? run.fail(path, () => 'matches the schema of `not`')
      : ((2 - result) as Result)
  }

const allOf =
  (list: Schema[]): Check =>
  (run, value, path, seen) => {
    let result: Result = YES
    for (const schema of list) {
      result = least(result, branch(run, schema, value, path, seen))
      if (result === NO && run.ends) break
    }
    return result
  }

/**
 * Evaluates a schema of the same value. It does not see what others have noted, and what it notes counts
 * unless it fails.
 */
function branch(run: Run, schema: Schema, value: unknown, path: Path, seen?: Seen): Result {
  if (!seen) return run.evaluate(schema, value, path)
  const noted = new Seen()
  const result = run.evaluate(schema, value, path, noted)
  if (result !== NO) run.spend(seen.add(noted))
  return result
}

const anyOf =
  (list: Schema[]): Check =>
  (run, value, path, seen) => {
    const evaluate = () => {
      let result: Result = NO
      for (const schema of list) {
        const found = branch(run, schema, value, path, seen)
        if (found > result) result = found
        // Every branch that holds notes what it has evaluated.
        if (result === YES && !seen) break
      }
      return result
    }
    const result = run.attempt(evaluate, (result) => result === NO)
    return result === NO ? run.fail(path, () => 'matches no schema of `anyOf`') : result
  }

const oneOf =
  (list: Schema[]): Check =>
  (run, value, path, seen) => {
    let [certain, possible] = [0, 0]
    const evaluate = () => {
      for (const schema of list) {
        const found = branch(run, schema, value, path, seen)
        if (found === YES) certain += 1
        if (found === MAYBE) possible += 1
        if (certain > 1) return NO
      }
      if (certain + possible === 0) return NO
      return possible > 0 ? MAYBE : YES
    }
    const result = run.attempt(evaluate, (result) => result === NO && certain === 0)
    if (result !== NO) return result
    const words = certain > 1 ? 'more than one schema' : 'no schema'
    return run.fail(path, () => `matches ${words} of \`oneOf\``)
  }

const ifThenElse =
  (condition: Schema, whenTrue: Schema, whenFalse: Schema): Check =>
  (run, value, path, seen) => {
    const decided = run.attempt(
      () => branch(run, condition, value, path, seen),
      () => false,
    )
    if (decided === YES) return branch(run, whenTrue, value, path, seen)
    if (decided === NO) return branch(run, whenFalse, value, path, seen)
    const both = () => {
      const found = [whenTrue, whenFalse].map((schema) => branch(run, schema, value, path, seen))
      return found[0] === found[1] ? found[0]! : MAYBE
    }
    return run.attempt(both, (result) => result === NO)
  }

const requires =
  (names: string[], reason: string): Check =>
  (run, value, path) => {
    if (!isObject(value)) return YES
    run.spend(names.length)
    let result: Result = YES
    for (const name of names) {
      if (Object.hasOwn(value, name)) continue
      result = run.fail(path, () => `the property "${name}" is required${reason}`)
      if (run.ends) break
    }
    return result
  }

/** A check of objects that have a member. */
const when =
  (name: string, check: Check): Check =>
  (run, value, path, seen) =>
    isObject(value) && Object.hasOwn(value, name) ? check(run, value, path, seen) : YES

const sizes =
  (fewest = 0, most = Infinity, what: 'properties' | 'items'): Check =>
  (run, value, path) => {
    let size: number
    if (what === 'items') {
      if (!Array.isArray(value)) return YES
      size = value.length
    } else {
      if (!isObject(value)) return YES
      size = Object.keys(value).length
      run.spend(size)
    }
    if (size < fewest) return run.fail(path, () => `has ${size} ${what}, fewer than ${fewest}`)
    if (size > most) return run.fail(path, () => `has ${size} ${what}, more than ${most}`)
    return YES
  }

const propertyNames =
  (schema: Schema): Check =>
  (run, value, path) => {
    if (!isObject(value)) return YES
    let result: Result = YES
    for (const name of Object.keys(value)) {
      result = least(result, run.evaluate(schema, name, run.below(path, name)))
      if (result === NO && run.ends) break
    }
    return result
  }

const propertiesCheck =
  (
    properties: Map<string, Schema>,
    patterns: [RegExp | undefined, Schema][],
    additional: Schema | undefined,
  ): Check =>
  (run, value, path, seen) => {
    if (!isObject(value)) return YES
    let result: Result = YES
    for (const name of Object.keys(value)) {
      run.spend(1)
      const schemas: Schema[] = []
      let mayMatch = false
      const property = properties.get(name)
      if (property !== undefined) schemas.push(property)
      if (patterns.length > 0) run.read(name)
      for (const [regex, schema] of patterns) {
        run.spend(1)
        if (regex === undefined) mayMatch = true
        else if (name.length > MOST_MATCHED) {
          throw new Unusable(
            `a name is longer than the ${MOST_MATCHED} characters on which \`patternProperties\` are tried`,
          )
        } else if (regex.test(name)) schemas.push(schema)
      }
      if (mayMatch) result = least(result, MAYBE)
      else if (schemas.length === 0 && additional !== undefined) schemas.push(additional)
      if (mayMatch || schemas.length > 0) seen?.names.add(name)
      for (const schema of schemas) {
        const below = run.below(path, name)
        result = least(result, run.evaluate(schema, value[name], below))
        if (result === NO && run.ends) return NO
      }
    }
    return result
  }

const items =
  (prefix: Schema[], after: Schema | undefined): Check =>
  (run, value, path, seen) => {
    if (!Array.isArray(value)) return YES
    let result: Result = YES
    for (const [index, item] of value.entries()) {
      const schema = prefix[index] ?? after
      if (schema === undefined) break
      seen?.items.add(index)
      result = least(result, run.evaluate(schema, item, run.below(path, index)))
      if (result === NO && run.ends) break
    }
    return result
  }

const contains =
  (schema: Schema, minimum: number, maximum: number): Check =>
  (run, value, path, seen) => {
    if (!Array.isArray(value)) return YES
    let [certain, possible] = [0, 0]
    for (const [index, item] of value.entries()) {
      const found = run.attempt(
        () => run.evaluate(schema, item, run.below(path, index)),
        () => false,
      )
      if (found === YES) certain += 1
      if (found === MAYBE) possible += 1
      if (found !== NO) seen?.items.add(index)
    }
    const fits = certain + possible >= minimum && certain <= maximum
    if (!fits) {
      const limit = certain > maximum ? `at most ${maximum}` : `at least ${minimum}`
      return run.fail(path, () => `has ${certain} items that match \`contains\`, expected ${limit}`)
    }
    return possible === 0 || (certain >= minimum && certain + possible <= maximum) ? YES : MAYBE
  }

const uniqueItems: Check = (run, value, path) => {
  if (!Array.isArray(value)) return YES
  const first = new Map<unknown, number>()
  for (const [index, item] of value.entries()) {
    run.spend(1)
    const isText = typeof item === 'string'
    if (isText) run.read(item)
    // A text is no key of another value: those begin with a bracket, a digit or a word of JSON.
    const key = isText ? `"${item}` : keyOf(item, run)
    const equal = first.get(key)
    if (equal !== undefined) return run.fail(path, () => `items ${equal} and ${index} are equal`)
    first.set(key, index)
  }
  return YES
}

const unevaluated =
  (names: Schema | undefined, items: Schema | undefined): Check =>
  (run, value, path, seen) => {
    let result: Result = YES
    const check = (schema: Schema, key: string | number, member: unknown) => {
      result = least(result, run.evaluate(schema, member, run.below(path, key)))
      return result === NO && run.ends
    }
    if (isObject(value) && names !== undefined) {
      for (const name of Object.keys(value)) {
        run.spend(1)
        if (seen?.names.has(name)) continue
        seen?.names.add(name)
        if (check(names, name, value[name])) break
      }
    }
    if (Array.isArray(value) && items !== undefined) {
      for (const [index, item] of value.entries()) {
        run.spend(1)
        if (seen?.items.has(index)) continue
        seen?.items.add(index)
        if (check(items, index, item)) break
      }
    }
    return result
  }
