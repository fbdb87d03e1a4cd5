import type { Glue, ChainGlue } from '../glue.js'
import { Part } from '../instance.js'
import * as embedded from '../../wasm/chain.js'

export const chain = new Part<ChainGlue & Glue>(embedded)
