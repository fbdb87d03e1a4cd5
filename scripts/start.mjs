// npm start: set up, build, serve the page with the embedded scripted model, say where.
// npm run start:rust: beside it, at /rust/, the example page in Rust.
import { build } from './build.mjs'
import { main } from './tasks.mjs'

const rust = process.argv.includes('--rust')
await main(async () => {
  await build()
  if (rust) await (await import('../examples/rust-page/build.mjs')).buildPage()
  const { serve } = await import('./serve.mjs')
  const { url } = await serve({ port: Number(process.env.PORT ?? 5173) })
  console.log(
    `\nTurnlock is at ${url}${rust ? 'rust/' : ''} (scripted model, no key needed; Ctrl+C ends it)`,
  )
})
