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

/**
 * What is asked of a schema that is written as a literal, and nothing of any other: each `type` is one
 * of JSON Schema, and what it requires is in `properties`, where these are all. A conditional type
 * with branches that every schema fits, so that a function with a schema of its own type may pass it.
 */
export type Literal<S> = ([S] extends [Typed<S>] ? unknown : TypedSchema) &
  ([S] extends [Named<S>] ? unknown : NamedSchema)

type TypeName = keyof Primitives | 'object' | 'array'

/** Within a Standard Schema nothing is asked. */
interface AnySchema {
  readonly '~standard'?: unknown
}

interface TypedSchema extends AnySchema {
  readonly type?: TypeName | readonly TypeName[]
  readonly properties?: TypedSchemas
  readonly items?: TypedSchema | boolean
  readonly additionalProperties?: TypedSchema | boolean
  readonly not?: TypedSchema | boolean
  readonly anyOf?: readonly (TypedSchema | boolean)[]
  readonly oneOf?: readonly (TypedSchema | boolean)[]
  readonly allOf?: readonly (TypedSchema | boolean)[]
  readonly $defs?: TypedSchemas
  readonly definitions?: TypedSchemas
}

interface TypedSchemas {
  readonly [name: string]: TypedSchema | boolean
}

interface NamedSchema extends AnySchema {
  readonly required?: readonly 'a name of `properties`'[]
}

/** The schema itself, with the types of JSON Schema in the place of those that it has not. */
type Typed<S> = S extends { readonly '~standard': unknown }
  ? S
  : {
      readonly [Keyword in keyof S]: Keyword extends 'type'
        ? TypedAs<S[Keyword]>
        : Keyword extends 'properties' | '$defs' | 'definitions'
          ? { readonly [Name in keyof S[Keyword]]: Typed<S[Keyword][Name]> }
          : Keyword extends 'items' | 'additionalProperties' | 'not' | 'anyOf' | 'oneOf' | 'allOf'
            ? Typed<S[Keyword]>
            : S[Keyword]
    }

type TypedAs<T> = T extends readonly unknown[]
  ? { readonly [At in keyof T]: TypedAs<T[At]> }
  : T extends string
    ? string extends T
      ? T
      : TypeName
    : T

/** Where a property may be that `properties` do not name. */
type Elsewhere = 'allOf' | 'anyOf' | 'oneOf' | '$ref' | 'patternProperties' | 'if'

type Named<S> = S extends { readonly properties: infer Members; readonly required: infer Names }
  ? Elsewhere & keyof S extends never
    ? string extends keyof Members
      ? S
      : { readonly required: { readonly [At in keyof Names]: NameOf<Members, Names[At]> } }
    : S
  : S

type NameOf<Members, Name> = string extends Name ? Name : keyof Members & string

/** Shown as one object in an editor. */
type Flat<T> = T extends infer Whole ? { [Name in keyof Whole]: Whole[Name] } : never
