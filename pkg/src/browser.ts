/**
 * All that pages use, for a page without a bundler: the build makes one file of it.
 *
 * @module
 */
export * from './index.js'
export * from './evidence/index.js'
export * from './planning/index.js'
export * from './chain/index.js'
export * from './redactor/index.js'
