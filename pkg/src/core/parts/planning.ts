import type { Glue, PlanningGlue } from '../glue.js'
import { Part } from '../instance.js'
import * as embedded from '../../wasm/planning.js'

export const planning = new Part<PlanningGlue & Glue>(embedded)
