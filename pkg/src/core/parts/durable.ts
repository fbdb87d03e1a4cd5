import type { Glue, DurableGlue } from '../glue.js'
import { Part } from '../instance.js'
import * as embedded from '../../wasm/durable.js'

export const durable = new Part<DurableGlue & Glue>(embedded)
