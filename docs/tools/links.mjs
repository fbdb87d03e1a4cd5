// The address of the project, set in one place: `repository` of the root's package.json. This
// writes it into the manifests of what is published; `--check` says where they differ, and which
// links lead nowhere: README.md is read in tarballs, which have the guides of docs and nothing else
// of the repository, so its links are absolute, to its own headings, or to those.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tracked } from '../../scripts/alone.mjs'
import { root } from '../../scripts/setup.mjs'

const read = (file) => readFileSync(join(root, file), 'utf8')

/** The address in npm's `repository`, a text or an object, without what npm adds to it. */
export function addressOf(repository) {
  const url = typeof repository === 'object' ? repository?.url : repository
  const address = url
    ?.replace(/^git\+/, '')
    .replace(/\/$/, '')
    .replace(/\.git$/, '')
  if (address && !/^https?:\/\//.test(address)) {
    throw new Error(`repository in package.json is no https address: ${url}`)
  }
  return address
}

/** The npm manifest with the address, or without one. */
export function npmManifest(text, address) {
  const { repository, homepage, bugs, ...rest } = JSON.parse(text)
  const fields = address && {
    repository: { type: 'git', url: `git+${address}.git`, directory: 'pkg' },
    homepage: `${address}#readme`,
    bugs: { url: `${address}/issues` },
  }
  return `${JSON.stringify({ ...rest, ...fields }, null, 2)}\n`
}

/** The crate's manifest with the address, or without one. */
export function crateManifest(text, address) {
  const without = text.replace(/^repository = .*\n/m, '')
  return address
    ? without.replace(/^license = .*\n/m, (line) => `${line}repository = "${address}"\n`)
    : without
}

/** The name by which a heading is linked to. */
const anchor = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

const proseOf = (text) => text.replace(/^```.*?^```/gms, '')
const headingsOf = (text) =>
  [...proseOf(text).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchor(heading))

/** The links of a document that lead nowhere; `exists` tells of other places. `own`: no other files. */
export function deadLinks(text, exists, own = false) {
  const prose = proseOf(text)
  const headings = headingsOf(text)
  // What stands in code is no link.
  return [...prose.replace(/(`+).+?\1/g, '').matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, to]) => to)
    .filter((to) => {
      if (/^(https?|mailto):/.test(to)) return false
      if (to.startsWith('#')) return !headings.includes(to.slice(1))
      // Pictures are left out of the package's copy.
      const here = own && !/^docs\/([\w-]+\.md|images\/)/.test(to)
      return here || !exists(to)
    })
}

const MANIFESTS = [
  ['pkg/package.json', npmManifest],
  ['Cargo.toml', crateManifest],
]

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const address = addressOf(JSON.parse(read('package.json')).repository)
  const wrong = []
  for (const [file, write] of MANIFESTS) {
    const text = write(read(file), address)
    if (text === read(file)) continue
    if (process.argv.includes('--check')) wrong.push(`${file} has another address: npm run address`)
    else writeFileSync(join(root, file), text)
  }
  // The package's README is a copy of the root's.
  const papers = tracked().filter(
    (file) => /\.md$/.test(file) && !/^(tests\/data|pkg)\//.test(file),
  )
  for (const file of papers) {
    const exists = (to) => {
      const [path, heading] = to.split('#')
      const place = join(dirname(file), path)
      const is = existsSync(join(root, place))
      return is && (!heading || headingsOf(read(place)).includes(heading))
    }
    for (const to of deadLinks(read(file), exists, file === 'README.md')) {
      wrong.push(`${file} links to ${to}`)
    }
  }
  for (const line of wrong) console.error(line)
  process.exit(wrong.length ? 1 : 0)
}
