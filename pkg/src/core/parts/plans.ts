import { compile } from '../compile.js'
import type { Glue, PlansGlue } from '../glue.js'
import { Part } from '../instance.js'
import * as embedded from '../../wasm/plans.js'

export const plans = new Part<PlansGlue & Glue>(embedded, compile)
