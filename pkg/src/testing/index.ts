/**
 * For tests: what a store must do, and a model that follows a script. No runtime's own modules,
 * and no core.
 *
 * @module
 */
export { storeConformance, type ConformanceCase, type ConformanceOptions } from './conformance.js'
export { scriptedModel, type ScriptedModel, type ScriptedResponse } from './scripted-model.js'
export type * from '../stores/store.js'
