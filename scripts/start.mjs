// npm start: set up, build, serve the page with the embedded scripted model, say where.
// npm run start:rust: beside it, at /rust/, the example page in Rust.
import { setup } from './setup.mjs'

const found = setup()
const { build } = await import('./build.mjs')
await build(found)
const rust = process.argv.includes('--rust')
if (rust) await (await import('../examples/rust-page/build.mjs')).buildPage(found)
const { serve } = await import('./serve.mjs')
const { url } = await serve({ port: Number(process.env.PORT ?? 5173) })
console.log(
  `\nTurnlock is at ${url}${rust ? 'rust/' : ''} (scripted model, no key needed; Ctrl+C ends it)`,
)
