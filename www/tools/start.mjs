// npm start: set up, build, serve the page with the embedded scripted model, say where.
// With the name of a page in Rust (`npm run start:rust`): beside it, at /<name>/, that page.
import { build } from '../../scripts/build.mjs'
import { main } from '../../scripts/tasks.mjs'

const [example] = process.argv.slice(2)
await main(async () => {
  await build()
  if (example) await (await import('../../examples/build.mjs')).buildPage(example)
  const { serve } = await import('./serve.mjs')
  const { url } = await serve({ port: Number(process.env.PORT ?? 5173) })
  console.log(
    `\nTurnlock is at ${url}${example ? `${example}/` : ''} (scripted model, no key needed; Ctrl+C ends it)`,
  )
})
