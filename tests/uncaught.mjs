// Imported before the tests of a file (scripts/steps.mjs): what nothing catches fails the file, also
// behind the end of its test, where Node 20 only mentions it. To name the test, Node's runner follows
// every promise by an asynchronous hook, which takes up to a quarter of the processor time of tests that
// mostly wait; that hook is left out. A file with suites keeps it: it finds the suite that a test is in.
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
