import { compile } from '../compile.js'
import type { Glue, PlansGlue, StatisticsGlue } from '../glue.js'
import { Part } from '../instance.js'
import * as embedded from '../../wasm/plans.js'

export const plans = new Part<PlansGlue & StatisticsGlue & Glue>(embedded, compile)
