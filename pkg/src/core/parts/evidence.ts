import type { Glue, EvidenceGlue } from '../glue.js'
import { Part } from '../instance.js'
import * as embedded from '../../wasm/evidence.js'

export const evidence = new Part<EvidenceGlue & Glue>(embedded)
