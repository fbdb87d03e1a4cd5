import { compile } from '../compile.js'
import type { Glue, StatisticsGlue } from '../glue.js'
import { Part } from '../instance.js'
import * as embedded from '../../wasm/statistics.js'

export const statistics = new Part<StatisticsGlue & Glue>(embedded, compile)
