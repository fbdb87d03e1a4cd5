import { compile } from '../compile.js'
import type { Glue, RequestsGlue } from '../glue.js'
import { Part } from '../instance.js'
import * as embedded from '../../wasm/requests.js'

export const requests = new Part<RequestsGlue & Glue>(embedded, compile)
