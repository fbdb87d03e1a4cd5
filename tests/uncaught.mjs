// Imported before the tests of a file (scripts/steps.mjs), so that an uncaught error fails the file.
// Node 20's runner follows every promise by an asynchronous hook to learn which test an error is of, and
// only reports an error whose test has ended. Without the hook any such error fails the file, and tests
// that mostly wait take up to a quarter less processor time. A file with suites keeps it: by the same
// hook the runner knows which suite a test is in.
import { createHook } from 'node:async_hooks'
import { existsSync, readFileSync } from 'node:fs'

const file = process.argv[1]
if (file && existsSync(file) && !/^ *describe\(/m.test(readFileSync(file, 'utf8'))) {
  const { prototype } = createHook({}).constructor
  const { enable } = prototype
  prototype.enable = function () {
    if (!/test_runner\/harness/.test(new Error().stack)) return enable.call(this)
    prototype.enable = enable
    return this
  }
}
