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
 * of JSON Schema, and what it requires is in `properties`, where no other keyword may have it. A
 * conditional type with branches that every schema fits, so that a function with a schema of its own
 * type may pass it.
 */
export type Literal<S> = ([S] extends [Typed<S>] ? unknown : SchemaOfKnownTypes) &
  ([S] extends [Named<S>] ? unknown : SchemaWithNamesOfProperties)

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

type SchemaWithNamesOfProperties =
  OrStandardSchema | { readonly required?: readonly 'a name of `properties`'[] | undefined }

/** The schema itself, with the types of JSON Schema in the place of those that it has not. */
type Typed<S> = S extends { readonly '~standard': unknown }
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

type TypedEach<Each> = { readonly [At in keyof Each]: Typed<Each[At]> }

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

/** What may have a property that `properties` do not name. */
type Elsewhere =
  | ('allOf' | 'anyOf' | 'oneOf' | 'if' | '$ref' | '$dynamicRef')
  | ('patternProperties' | 'dependentSchemas' | 'unevaluatedProperties')

type Named<S> = S extends { readonly properties: infer Members; readonly required: infer Names }
  ? Elsewhere & keyof S extends never
    ? S extends { readonly additionalProperties: infer More }
      ? More extends false
        ? NamedIn<S, Members, Names>
        : S
      : NamedIn<S, Members, Names>
    : S
  : S

type NamedIn<S, Members, Names> = string extends keyof Members
  ? S
  : { readonly required: NamesOf<Members, Names> }

type NamesOf<Members, Names> = Names extends readonly unknown[]
  ? { readonly [At in keyof Names]: NameOf<Members, Names[At]> }
  : Names extends undefined
    ? Names
    : unknown extends Names
      ? Names
      : readonly string[]

type NameOf<Members, Name> = string extends Name
  ? Name
  : `${Extract<keyof Members, string | number>}`

/** Shown as one object in an editor. */
type Flat<T> = T extends infer Whole ? { [Name in keyof Whole]: Whole[Name] } : never
