// The guides as a site with search and a dark form (mdBook), and below it the reference: of the npm
// package by TypeDoc, of the crates by rustdoc. `node docs/tools/site.mjs [folder]`; the default is where
// `npm start` looks for it.
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { unlessFresh } from '../../scripts/build/fresh.mjs'
import { build } from '../../scripts/build.mjs'
import { cargoEnv, mdbook, needTests, npm, root, rust } from '../../scripts/setup.mjs'
import { command, main, once, task } from '../../scripts/tasks.mjs'

/** Where `npm start` looks for it. */
export const DOCS = '.cache/docs/site'

/** The guides in their order. Each file of `docs` is in here. */
export const CHAPTERS = {
  Begin: ['start', 'page', 'moving', 'frameworks', 'guards'],
  Turns: ['turns', 'hybrid', 'tools', 'guard', 'survive', 'stores', 'testing'],
  Serve: ['serve', 'deploy', 'cloudflare', 'remote', 'proxy', 'providers'],
  'Evidence and plans': ['bundles', 'statistics', 'requests', 'chains'],
  'Histories and secrets': ['histories', 'redaction'],
  'Where it runs': ['sizes', 'rust', 'command'],
  Reference: ['options', 'events', 'errors', 'limits', 'api'],
}

const titleOf = (text) => /^# (.*)$/m.exec(text)[1]

/** What mdBook reads: the guides, and their order. */
function writeSource(folder) {
  const listed = Object.values(CHAPTERS)
    .flat()
    .map((name) => `${name}.md`)
  const all = readdirSync(join(root, 'docs')).filter((file) => file.endsWith('.md'))
  const missing = all.filter((file) => !listed.includes(file))
  if (missing.length) throw new Error(`docs/tools/site.mjs does not list ${missing.join(', ')}`)
  rmSync(folder, { recursive: true, force: true })
  const isGuide = (path) => path !== join(root, 'docs/tools')
  cpSync(join(root, 'docs'), join(folder, 'src'), { recursive: true, filter: isGuide })
  const entries = Object.entries(CHAPTERS).map(([part, names]) => {
    const lines = names.map((name) => {
      const title = titleOf(readFileSync(join(root, 'docs', `${name}.md`), 'utf8'))
      return `- [${title}](${name}.md)`
    })
    return `# ${part}\n\n${lines.join('\n')}`
  })
  writeFileSync(join(folder, 'src/SUMMARY.md'), `# Turnlock\n\n${entries.join('\n\n')}\n`)
  writeFileSync(join(folder, 'scrolls.js'), SCROLLS)
  writeFileSync(join(folder, 'links.css'), LINKS)
  writeFileSync(
    join(folder, 'book.toml'),
    `[book]
title = "Turnlock"
language = "en"
[output.html]
default-theme = "light"
preferred-dark-theme = "navy"
no-section-label = true
additional-js = ["scrolls.js"]
additional-css = ["links.css"]
[output.html.print]
enable = false
[output.html.playground]
runnable = false
`,
  )
}

/** What is wider than the page scrolls by keys, too. */
const SCROLLS = `for (const one of document.querySelectorAll('pre > code, .table-wrapper')) {
  if (one.scrollWidth > one.clientWidth) one.tabIndex = 0
}
`

/**
 * Links in a text are underlined (WCAG 1.4.1: not by colour alone). mdBook's dark theme has links and
 * code with too little contrast (1.4.3).
 */
const LINKS = `.navy { --links: #6cb5e8; }
main a:not(.header) { text-decoration: underline; }
main .hljs span[class] { opacity: 1; }
.navy :is(.hljs-attr, .hljs-attribute, .hljs-name, .hljs-regexp, .hljs-tag, .hljs-variable) { color: #d77; }
`

/**
 * What a coding agent reads, as of llmstxt.org: the list of the guides, all of them in one file, and
 * each as Markdown beside its page.
 */
function writeForAgents(folder) {
  const guide = (name) => readFileSync(join(root, 'docs', `${name}.md`), 'utf8')
  const rows = Object.entries(CHAPTERS).map(([part, names]) => {
    const links = names.map((name) => `- [${titleOf(guide(name))}](${name}.md)`)
    return `## ${part}\n\n${links.join('\n')}`
  })
  const { description } = JSON.parse(readFileSync(join(root, 'pkg/package.json'), 'utf8'))
  writeFileSync(
    join(folder, 'llms.txt'),
    `# Turnlock\n\n> ${description}\n\n${rows.join('\n\n')}\n`,
  )
  const names = Object.values(CHAPTERS).flat()
  writeFileSync(join(folder, 'llms-full.txt'), names.map(guide).join('\n'))
  for (const name of names) writeFileSync(join(folder, `${name}.md`), guide(name))
}

/** The declarations of each entry of the package, in files named as it is imported. */
function writeDeclared(folder) {
  const { exports } = JSON.parse(readFileSync(join(root, 'pkg/package.json'), 'utf8'))
  const entries = new Map()
  const slim = (name) => Number(name.startsWith('./slim'))
  const all = Object.entries(exports).toSorted(([a], [b]) => slim(a) - slim(b))
  for (const [name, { types }] of all) {
    // The first name: others have the same declarations.
    if (types && !entries.has(types)) entries.set(types, join('turnlock', name))
  }
  return [...entries].map(([types, name]) => {
    const file = join(folder, `${name.replace(/\/$/, '')}.d.ts`)
    mkdirSync(dirname(file), { recursive: true })
    const from = relative(dirname(file), join(root, 'pkg', types)).replaceAll('\\', '/')
    writeFileSync(file, `export * from '${from.replace(/\.d\.ts$/, '.js')}'\n`)
    return file
  })
}

/** The reference of the npm package. A warning is an error. */
async function writeReference(work, folder) {
  const to = join(folder, 'reference')
  const favicon = readdirSync(folder).find((file) => /^favicon.*\.svg$/.test(file))
  const settingsFile = join(work, 'typedoc.json')
  const entryPoints = writeDeclared(join(work, 'types'))
  const tsconfig = join(work, 'tsconfig.json')
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2022',
    lib: ['es2022', 'dom'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    jsx: 'react-jsx',
  }
  writeFileSync(tsconfig, JSON.stringify({ compilerOptions, files: entryPoints }))
  writeFileSync(
    settingsFile,
    JSON.stringify({
      entryPoints,
      tsconfig,
      out: to,
      name: 'turnlock',
      readme: 'none',
      plugin: ['typedoc-plugin-missing-exports'],
      disableSources: true,
      treatWarningsAsErrors: true,
      hideGenerator: true,
      githubPages: false,
      favicon: join(folder, favicon),
      navigationLinks: { Guides: '../index.html' },
    }),
  )
  const typedoc = join(root, 'tests/node_modules/typedoc/bin/typedoc')
  await command(process.execPath, [typedoc, '--options', settingsFile], {
    cwd: join(root, 'tests'),
  })
}

/** What of the crates the reference has. Without its features the driver has no platform. */
export const CRATES = [
  ...['turnlock', 'turnlock-client'].flatMap((name) => ['--package', name]),
  '--features',
  'turnlock-client/tokio,turnlock-client/jsonschema',
]

/** The reference of the crates. */
async function writeCrates(to) {
  await rust()
  const target = join(root, '.cache/docs/crates')
  const args = ['doc', '--no-deps', '--locked', ...CRATES, '--target-dir', target]
  await command('cargo', args, { cwd: root, env: { ...cargoEnv, RUSTDOCFLAGS: '-D warnings' } })
  cpSync(join(target, 'doc'), to, { recursive: true })
}

/** The folder that a command is given, which is emptied: no option is one. */
export function folderOf(command, otherwise) {
  const [given = join(root, otherwise)] = process.argv.slice(2)
  if (!given.startsWith('-')) return resolve(given)
  console.error(`${command} [-- FOLDER]: a folder that it may empty; ${otherwise} if none is given`)
  process.exit(2)
}

/** Where `makeDocs` writes, and from what. */
const MADE = '.cache/docs/made'
const FROM = [
  'docs',
  'pkg/dist',
  'pkg/package.json',
  'package-lock.json',
  'docs/tools/site.mjs',
  'scripts/setup.mjs',
]

/** Makes the guides and the reference of the npm package where something has changed. */
export const makeDocs = once(async () => {
  const [program] = await Promise.all([mdbook(), npm(), build()])
  const write = async () => {
    // By the process: two runs in one clone do not write into one folder.
    const work = join(root, '.cache/docs', `work-${process.pid}`)
    writeSource(work)
    const made = join(work, 'site')
    await command(program, ['build', '--dest-dir', made, work], { cwd: root })
    writeForAgents(made)
    await writeReference(work, made)
    rmSync(join(root, MADE), { recursive: true, force: true })
    renameSync(made, join(root, MADE))
    rmSync(work, { recursive: true, force: true })
  }
  await unlessFresh('docs', FROM, [`${MADE}/index.html`], () => task('the documentation', write))
})

/** Writes the site into an empty folder; with `crates`, also the reference of these. */
export async function writeDocs(folder, { crates = false } = {}) {
  needTests()
  await makeDocs()
  rmSync(folder, { recursive: true, force: true })
  cpSync(join(root, MADE), folder, { recursive: true })
  if (crates) await writeCrates(join(folder, 'crates'))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = folderOf('npm run docs', DOCS)
  mkdirSync(folder, { recursive: true })
  await main(async () => {
    await writeDocs(folder, { crates: true })
    console.log(`\nThe documentation is in ${folder}`)
  })
}
