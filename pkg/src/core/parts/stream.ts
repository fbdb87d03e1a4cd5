import { compile } from '../compile.js'
import type { Glue, StreamGlue } from '../glue.js'
import { Part } from '../instance.js'
import * as embedded from '../../wasm/stream.js'

export const stream = new Part<StreamGlue & Glue>(embedded, compile)
