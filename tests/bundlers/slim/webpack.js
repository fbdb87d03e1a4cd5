import { runWith } from './run.js'

export const run = () => runWith(new URL('turnlock/turnlock.wasm', import.meta.url))
