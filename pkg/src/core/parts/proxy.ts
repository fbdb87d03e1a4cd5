import { compile } from '../compile.js'
import type { Glue, ProxyGlue } from '../glue.js'
import { Part } from '../instance.js'
import * as embedded from '../../wasm/proxy.js'

export const proxy = new Part<ProxyGlue & Glue>(embedded, compile)
