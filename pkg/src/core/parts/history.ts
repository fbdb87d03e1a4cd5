import { compile } from '../compile.js'
import type { Glue, HistoryGlue } from '../glue.js'
import { Part } from '../instance.js'
import * as embedded from '../../wasm/history.js'

export const history = new Part<HistoryGlue & Glue>(embedded, compile)
