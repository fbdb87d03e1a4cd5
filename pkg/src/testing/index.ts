/**
 * For tests: scripted models and providers, recorded responses, a clock that stands still, and a
 * conformance suite for stores. It uses no module of a specific runtime; only `expectValidHistory` and
 * `historyMatchers` use the core.
 *
 * @module
 */
export { fakeClock, type FakeClock } from './clock.js'
export { storeConformance, type ConformanceCase, type ConformanceOptions } from './conformance.js'
export { expectValidHistory, historyMatchers, type MatcherResult } from './history.js'
export {
  recordModel,
  replayModel,
  type ModelTape,
  type RecordingFetch,
  type TapeEntry,
  type TapeFailure,
  type TapeRequest,
  type TapeResponse,
} from './model-tape.js'
export {
  scriptedProvider,
  type RecordedEntry,
  type Script,
  type ScriptContext,
  type ScriptedProvider,
  type ScriptedProviderOptions,
} from './provider/provider.js'
export { sampleTools } from './provider/sample-tools.js'
export type { ProviderRequest } from './provider/sessions.js'
export type {
  DeclaredTool,
  RequestView,
  ScriptCall,
  ScriptEntry,
  StoredConversation,
  StreamEvent,
} from './provider/wire/entry.js'
export type { WireName } from './provider/wire/index.js'
export { scriptedModel, type ScriptedModel, type ScriptedResponse } from './scripted-model.js'
export type { TapeDifference } from './tape-difference.js'
export { tapeFetch, type Recording, type TapedRequest, type TapeFetch } from './tape.js'
export type {
  CommitResult,
  Commit,
  EventGroup,
  StoredTurn,
  ListedTurn,
  StoredOutcome,
  TurnHead,
  Store,
} from '../stores/store.js'
