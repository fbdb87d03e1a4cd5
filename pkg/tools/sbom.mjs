// Writes what is inside what is published, as CycloneDX 1.6: sbom/<package>.cdx.json for the npm package
// and each crate. npm run sbom
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { components, crates } from './components.mjs'
import { root } from '../../scripts/setup.mjs'

const { version } = JSON.parse(readFileSync(join(root, 'pkg/package.json'), 'utf8'))
const purl = { cargo: 'cargo', npm: 'npm', rust: 'generic' }

function component({ kind, name, version, sha256, licence }) {
  const path = name.replace('@', '%40').replaceAll(' ', '-')
  const id = `pkg:${purl[kind]}/${path}${version ? `@${version}` : ''}`
  return {
    type: 'library',
    'bom-ref': id,
    name,
    ...(version && { version }),
    purl: id,
    licenses: [{ expression: licence.replaceAll('/', ' OR ') }],
    ...(sha256 && { hashes: [{ alg: 'SHA-256', content: sha256 }] }),
  }
}

/** One document. No time and no serial number: the same tree gives the same bytes. */
function document(kind, name, inside) {
  const subject = component({ kind, name, version, licence: 'MIT' })
  const parts = inside.map(component)
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: subject },
    components: parts,
    dependencies: [{ ref: subject['bom-ref'], dependsOn: parts.map((part) => part['bom-ref']) }],
  }
}

const documents = {
  'turnlock-npm': document('npm', 'turnlock', await components()),
  'turnlock-crate': document('cargo', 'turnlock', crates('turnlock', '--all-features')),
  'turnlock-client-crate': document(
    'cargo',
    'turnlock-client',
    crates('turnlock-client', '--all-features'),
  ),
}
mkdirSync(join(root, 'sbom'), { recursive: true })
for (const [name, text] of Object.entries(documents)) {
  writeFileSync(join(root, `sbom/${name}.cdx.json`), `${JSON.stringify(text, null, 2)}\n`)
  console.log(`sbom/${name}.cdx.json: ${text.components.length} components`)
}
