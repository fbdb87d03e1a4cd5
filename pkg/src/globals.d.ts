// Names of the web platform that declarations of the package use, for projects without TypeScript's
// DOM library. Where it, or Node's types, are there, these add nothing to theirs.
interface AbortSignal {}
interface Headers {}
interface IDBFactory {}
interface ReadableStream<R = any> {}
interface Request {}
interface RequestInit {}
interface Response {}
interface ResponseInit {}
interface URL {}
declare namespace WebAssembly {
  interface Memory {}
  interface Module {}
}
