/**
 * For tests: a conformance suite for stores, and a scripted model. It uses neither modules of a
 * specific runtime nor the core.
 *
 * @module
 */
export { storeConformance, type ConformanceCase, type ConformanceOptions } from './conformance.js'
export { scriptedModel, type ScriptedModel, type ScriptedResponse } from './scripted-model.js'
export type * from '../stores/store.js'
