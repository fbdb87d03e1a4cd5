// npm run site [folder]: the page as static files, for any host and any path, and the documentation at
// docs/. The scripted model is in the page itself.
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from '../../scripts/build.mjs'
import { folderOf, writeDocs } from '../../docs/tools/site.mjs'
import { root } from '../../scripts/setup.mjs'
import { main } from '../../scripts/tasks.mjs'

/** Writes the site into an empty folder; with `crates`, also the reference of these. */
export async function writeSite(folder, { crates = false } = {}) {
  await build()
  rmSync(folder, { recursive: true, force: true })
  const isPage = (path) => path !== join(root, 'www/tools')
  cpSync(join(root, 'www'), folder, { recursive: true, filter: isPage })
  const isCode = (path) => !/\.d\.ts$/.test(path) && path !== join(root, 'pkg/dist/page')
  cpSync(join(root, 'pkg/dist'), join(folder, 'turnlock'), { recursive: true, filter: isCode })
  // Imports the package, which exists only after the build.
  const { page } = await import('./serve.mjs')
  const { html, policy, behaviours } = page(
    readFileSync(join(root, 'www/index.html'), 'utf8'),
    true,
  )
  // A host of static files sends no header; `frame-ancestors` is for headers alone.
  const meta = policy.replace(/; frame-ancestors [^;]+/, '').replaceAll('"', '&quot;')
  const pageHtml = html
    .replace('<html lang="en">', '<html lang="en" data-model="page">')
    .replace(
      '<meta charset="utf-8" />',
      `<meta charset="utf-8" />\n    <meta http-equiv="content-security-policy" content="${meta}" />`,
    )
  writeFileSync(join(folder, 'index.html'), pageHtml)
  writeFileSync(join(folder, 'behaviours.json'), behaviours)
  await writeDocs(join(folder, 'docs'), { crates })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = folderOf('npm run site', 'site')
  await main(async () => {
    await writeSite(folder, { crates: true })
    console.log(`\nThe page is in ${folder}, the documentation in its folder docs`)
  })
}
