import type { Glue, TurnGlue } from '../glue.js'
import { Part } from '../instance.js'
import * as embedded from '../../wasm/turn.js'

export const turn = new Part<TurnGlue & Glue>(embedded)
