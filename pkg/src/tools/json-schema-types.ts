/** The type of what a JSON Schema accepts, from a schema that is written as a literal. */

/** A schema whose keywords the type checker does not know; its data may be anything. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Unknown = any

/** What JSON Schema calls a type. `object` and `array` without more say nothing of what they hold. */
interface Primitives {
  string: string
  number: number
  integer: number
  boolean: boolean
  null: null
}

/**
 * The data that a literal schema accepts, as far as a type can say it: `const`, `enum`, `anyOf`,
 * `oneOf`, `type`, `properties` with `required`, and `items`. What it does not say is `any`, and so
 * is all of a schema that is no literal.
 */
export type FromJsonSchema<S> = S extends { readonly const: infer Value }
  ? Value
  : S extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : S extends { readonly anyOf: readonly (infer One)[] }
      ? FromJsonSchema<One>
      : S extends { readonly oneOf: readonly (infer One)[] }
        ? FromJsonSchema<One>
        : S extends { readonly type: readonly (infer Type)[] }
          ? Type extends string
            ? FromType<S, Type>
            : Unknown
          : S extends { readonly type: infer Type extends string }
            ? FromType<S, Type>
            : Unknown

type FromType<S, Type extends string> = string extends Type
  ? Unknown
  : Type extends keyof Primitives
    ? Primitives[Type]
    : Type extends 'array'
      ? S extends { readonly items: infer Item extends object }
        ? FromJsonSchema<Item>[]
        : Unknown[]
      : Type extends 'object'
        ? S extends { readonly properties: infer Members extends object }
          ? FromMembers<Members, Required<S>>
          : Record<string, Unknown>
        : Unknown

type Required<S> = S extends { readonly required: readonly (infer Name)[] } ? Name : never

type FromMembers<Members, Needed> = Flat<
  {
    -readonly [Name in keyof Members as Name extends Needed ? Name : never]: FromJsonSchema<
      Members[Name]
    >
  } & {
    -readonly [Name in keyof Members as Name extends Needed ? never : Name]?:
      FromJsonSchema<Members[Name]> | undefined
  }
>

/** Shown as one object in an editor. */
type Flat<T> = T extends infer Whole ? { [Name in keyof Whole]: Whole[Name] } : never
