import { compile } from '../compile.js'
import type { Glue, SignatureGlue } from '../glue.js'
import { Part } from '../instance.js'
import * as embedded from '../../wasm/signature.js'

export const signature = new Part<SignatureGlue & Glue>(embedded, compile)
