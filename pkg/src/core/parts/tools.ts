import { compile } from '../compile.js'
import type { Glue, ToolsGlue } from '../glue.js'
import { Part } from '../instance.js'
import * as embedded from '../../wasm/tools.js'

export const tools = new Part<ToolsGlue & Glue>(embedded, compile)
