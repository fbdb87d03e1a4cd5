/** The types of what tools return, as a turn's result has it. */
import type { ToolContent, ToolContentReference } from './content.js'
import type { Tool } from './tools.js'
import type { ToolResult, ToolStatus } from '../types.js'

/** Tools by name, as `tools` of a turn has them. */
export type ToolSet = Readonly<Record<string, Tool>>

/**
 * The result of a call of one of these tools. Where `status` is `ok` and it is not `truncated`, `name`
 * tells the type of `result`: the JSON of what `execute` returns.
 */
export type ToolResultOf<T extends ToolSet> = string extends keyof T
  ? ToolResult
  : | { [Name in keyof T & string]: OkResult<Name, Returned<T[Name]>> }[keyof T & string]
    | CutResult
    | FailedResult

/** The result of a call that is whole. */
export interface OkResult<Name extends string, Result> extends Settled {
  name: Name
  status: 'ok'
  truncated: false
  result: Result
}

/** The first part of a result that is longer than `maxToolResultBytes`. */
export interface CutResult extends Settled {
  truncated: true
  result?: unknown
}

/** What a call without a result of its tool came to. */
export interface FailedResult extends Settled {
  status: Exclude<ToolStatus, 'ok'>
  result?: unknown
}

type Settled = Omit<ToolResult, 'result'>

/** What a tool's `execute` gives: it may return it, promise it, or yield progress before. */
type Returned<T extends Tool, Made = ReturnType<T['execute']>> =
  Made extends AsyncGenerator<unknown, infer Result>
    ? Told<Result>
    : Made extends Generator<unknown, infer Result>
      ? Told<Result>
      : Told<Awaited<Made>>

/** Content has references in place of data. */
type Told<T> = unknown extends T ? T : [T] extends [ToolContent] ? ToolContentReference : Json<T>

/**
 * What JSON makes of a value, as `JSON.parse(JSON.stringify(value))` would have it. `undefined` as a
 * whole is `null`.
 */
export type Json<T> = unknown extends T ? T : T extends undefined | void ? null : Member<T>

type Member<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends { toJSON(...args: never): infer Made }
    ? Made
    : T extends (...args: never) => unknown
      ? undefined
      : T extends symbol | bigint
        ? never
        : T extends readonly unknown[]
          ? { -readonly [At in keyof T]: Item<T[At]> }
          : T extends object
            ? { -readonly [Name in keyof T as Kept<Name, T[Name]>]: Member<T[Name]> }
            : T

/** In an array, what has no JSON is `null`. */
type Item<T> = unknown extends T ? T : T extends undefined ? null : Member<T>

/** A member that always has no JSON is left out. */
type Kept<Name, T> = Name extends symbol
  ? never
  : unknown extends T
    ? Name
    : [T] extends [((...args: never) => unknown) | symbol | undefined]
      ? never
      : Name
