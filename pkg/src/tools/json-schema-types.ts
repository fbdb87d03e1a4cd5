/** The type of what a JSON Schema accepts, from a schema that is written as a literal. */

/** A schema whose keywords the type checker does not know; its data may be anything. */
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
 * `oneOf`, `type`, `nullable`, `properties` with `required`, and `items`. What it does not say is
 * `any`, and so is all of a schema that is no literal.
 */
export type FromJsonSchema<S> = S extends { readonly nullable: true }
  ? NotNull<S> | null
  : NotNull<S>

/** As {@link FromJsonSchema}, without `nullable`. */
type NotNull<S> = S extends { readonly const: infer Value }
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
 * of JSON Schema. A conditional type with branches that every schema fits, so that a function with a
 * schema of its own type may pass it.
 */
export type Literal<S> = [S] extends [Typed<S>] ? unknown : SchemaOfKnownTypes

/** Of a Standard Schema nothing is asked. The names of these types stand in the compiler's messages. */
interface OrStandardSchema {
  readonly '~standard': unknown
}

type TypeName = keyof Primitives | 'object' | 'array'

/** Keywords with schemas by their names. */
type Maps = 'properties' | 'patternProperties' | 'dependentSchemas' | '$defs' | 'definitions'

/** Keywords with a schema; `items` had lists of them in older drafts. */
type Schemas =
  | ('items' | 'additionalItems' | 'unevaluatedItems' | 'contains' | 'additionalProperties')
  | ('unevaluatedProperties' | 'propertyNames' | 'not' | 'if' | 'then' | 'else')

type Lists = 'prefixItems' | 'anyOf' | 'oneOf' | 'allOf'

type SchemaOfKnownTypes =
  | OrStandardSchema
  | ({ readonly type?: TypeName | readonly TypeName[] | undefined } & {
      readonly [Keyword in Maps]?:
        { readonly [name: string]: SchemaOfKnownTypes | boolean } | undefined
    } & { readonly [Keyword in Schemas]?: SchemaOfKnownTypes | boolean | undefined } & {
      readonly [Keyword in Lists]?: readonly (SchemaOfKnownTypes | boolean)[] | undefined
    })

/** The schema itself, with the types of JSON Schema in the place of those that it has not. */
type Typed<S> = unknown extends S
  ? S
  : S extends { readonly '~standard': unknown }
    ? S
    : S extends readonly unknown[]
      ? TypedEach<S>
      : {
          readonly [Keyword in keyof S]: Keyword extends 'type'
            ? TypedAs<S[Keyword]>
            : Keyword extends Maps
              ? TypedEach<S[Keyword]>
              : Keyword extends Schemas | Lists
                ? Typed<S[Keyword]>
                : S[Keyword]
        }

type TypedEach<Each> = unknown extends Each
  ? Each
  : { readonly [At in keyof Each]: Typed<Each[At]> }

type TypedAs<T> = T extends readonly unknown[]
  ? { readonly [At in keyof T]: TypedAs<T[At]> }
  : T extends string
    ? string extends T
      ? T
      : `${T}` extends TypeName
        ? T
        : TypeName
    : T extends undefined
      ? T
      : unknown extends T
        ? T
        : TypeName

/** Shown as one object in an editor. */
type Flat<T> = T extends infer Whole ? { [Name in keyof Whole]: Whole[Name] } : never
