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
 * What a literal schema must be, where the type checker can tell that it is a mistake: a `type` that
 * JSON Schema does not have, and a required property beside `properties` that do not name it. Whatever
 * is not written as a literal is taken.
 */
export type Sound<S> = S extends { readonly '~standard': unknown }
  ? unknown
  : S extends object
    ? {
        readonly [Keyword in keyof S]: Keyword extends 'type'
          ? SoundType<S[Keyword]>
          : Keyword extends 'properties' | '$defs' | 'definitions'
            ? { readonly [Name in keyof S[Keyword]]: Sound<S[Keyword][Name]> }
            : Keyword extends 'items' | 'additionalProperties' | 'not' | 'anyOf' | 'oneOf' | 'allOf'
              ? Sound<S[Keyword]>
              : Keyword extends 'required'
                ? SoundNames<S, S[Keyword]>
                : unknown
      }
    : unknown

type SoundType<T> = T extends readonly unknown[]
  ? { readonly [At in keyof T]: SoundType<T[At]> }
  : T extends string
    ? string extends T
      ? T
      : keyof Primitives | 'object' | 'array'
    : T

/** A part of the schema that stands elsewhere may have the property. */
type Elsewhere = 'allOf' | 'anyOf' | 'oneOf' | '$ref' | 'patternProperties' | 'if'

type SoundNames<S, Names> = S extends { readonly properties: infer Members }
  ? Elsewhere & keyof S extends never
    ? string extends keyof Members
      ? Names
      : {
          readonly [At in keyof Names]: Names[At] extends string
            ? NameOf<Members, Names[At]>
            : unknown
        }
    : Names
  : Names

type NameOf<Members, Name extends string> = string extends Name ? Name : keyof Members & string

/** Shown as one object in an editor. */
type Flat<T> = T extends infer Whole ? { [Name in keyof Whole]: Whole[Name] } : never
