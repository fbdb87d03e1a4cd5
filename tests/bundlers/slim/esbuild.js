import url from 'turnlock/turnlock.wasm'
import { runWith } from './run.js'

export const run = () => runWith(new URL(url, import.meta.url))
