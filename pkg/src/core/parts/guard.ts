import { compile } from '../compile.js'
import type { Glue, GuardGlue } from '../glue.js'
import { Part } from '../instance.js'
import * as embedded from '../../wasm/guard.js'

export const guard = new Part<GuardGlue & Glue>(embedded, compile)
