/** Uses the module that workerd has compiled. */
import module from './turnlock.wasm'
import { useWhole } from './core/instance.js'
import { createInstance } from './wasm/whole.js'

useWhole({ createInstance, module: () => module })
