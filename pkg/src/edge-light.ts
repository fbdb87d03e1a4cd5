/** Uses the module that the build has compiled: Vercel's edge runtime refuses to compile bytes. */
import module from './turnlock.wasm?module'
import { useWhole } from './core/instance.js'
import { createInstance } from './wasm/whole.js'

useWhole({ createInstance, module: () => module })
