// node examples/rust-page/build.mjs: the page in `dist`, to be served by any static server.
import { cpSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildExample } from '../../scripts/examples.mjs'
import { main } from '../../scripts/tasks.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const FILES = ['index.html', 'style.css', 'start.js']

/** Builds what has changed. */
export const buildPage = () =>
  buildExample('rust-page', FILES, (dist) => {
    for (const file of FILES) cpSync(join(here, file), join(dist, file))
  })

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(buildPage)
