import url from 'turnlock/turnlock.wasm?url'
import { runWith } from './run.js'

export const run = () => runWith(url)
