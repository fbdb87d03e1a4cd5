// The types of the adapters, and those of the packages that they are made for.
import { execFileSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))

test('what packages of others are given is what they take', () => {
  const tsc = join(here, '../../node_modules/typescript/bin/tsc')
  const rules = ['--strict', '--exactOptionalPropertyTypes', '--noEmit', '--skipLibCheck']
  const how = ['--module', 'esnext', '--moduleResolution', 'bundler', '--target', 'es2022']
  const args = [tsc, ...rules, ...how, '--types', 'node', join(here, 'types.ts')]
  try {
    execFileSync(process.execPath, args, { encoding: 'utf8' })
  } catch (error) {
    throw new Error(error.stdout, { cause: error })
  }
})
