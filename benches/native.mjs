// What a native test of the core measures and prints: node benches/native.mjs <test>
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const run = ['test', '--release', '--locked', '--quiet', '--test', process.argv[2]]
const { status, stdout } = spawnSync('cargo', [...run, '--', '--nocapture', '--test-threads=1'], {
  cwd: join(import.meta.dirname, '..'),
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'inherit'],
})
// Without the words of the harness, and its dot for each test that has passed.
const lines = stdout.split('\n').map((line) => line.replace(/^\.+/, ''))
const said = lines.filter((line) => line && !/^(running \d+ tests?|test result: .*)$/.test(line))
console.log(said.join('\n'))
process.exitCode = status
