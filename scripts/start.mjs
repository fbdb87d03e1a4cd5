// npm start: set up, build, serve the page with the embedded scripted model, say where.
import { setup } from './setup.mjs'

const found = setup()
const { build } = await import('./build.mjs')
await build(found)
const { serve } = await import('./serve.mjs')
const { url } = await serve({ port: Number(process.env.PORT ?? 5173) })
console.log(`\nTurnlock is at ${url} (scripted model, no key needed; Ctrl+C ends it)`)
