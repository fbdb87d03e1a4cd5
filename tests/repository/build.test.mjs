// What is built is built again when it may be another.
import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { unlessFresh } from '../../scripts/build/fresh.mjs'
import { factory } from '../../scripts/build/glue.mjs'
import { root } from '../../scripts/setup.mjs'

const name = `test-${process.pid}`
const folder = join('.cache', name)
const input = join(folder, 'in')
const output = join(folder, 'out')
const write = (path, text) => writeFileSync(join(root, path), text)

mkdirSync(join(root, folder), { recursive: true })
after(() => {
  rmSync(join(root, folder), { recursive: true })
  rmSync(join(root, '.cache', `${name}.stamp`), { force: true })
})

test('a build that failed half-way leaves nothing that counts as fresh', async () => {
  let built = 0
  const build = (fails) =>
    unlessFresh(name, [input], [output], async () => {
      built++
      write(output, `${built}`)
      if (fails) throw new Error('it does not compile')
    })

  write(input, 'A')
  await build()
  await build()
  assert.equal(built, 1)
  write(input, 'B')
  await assert.rejects(build(true))
  write(input, 'A')
  await build()
  assert.equal(built, 3)
  rmSync(join(root, output))
  await build()
  assert.equal(built, 4)
})

test('the functions of a core hand over what wasm-bindgen says they take', () => {
  const documented = (name, list, tags, body) =>
    `    /**\n     * What it does.\n${tags.map((tag) => `     * ${tag}\n`).join('')}     */
    function ${name}(${list}) {\n        ${body}\n    }\n    exports.${name} = ${name};\n`
  const imports =
    '__wbg___wbindgen_throw_4c88: function(arg0, arg1) {},\n__wbindgen_init_externref_table: function() {},'
  // The name of a parameter may be that of what reads a text.
  const text = ['@param {Uint8Array | number[]} text', '@param {number} put', '@returns {string}']
  const glue = [
    documented('read_text', 'text, put', text, 'return deferred;'),
    documented('count', '', ['@returns {number}'], 'return ret >>> 0;'),
    documented('tape', 'a', ['@param {Uint32Array | number[]} a', '@returns {Uint8Array}'], ''),
    documented('named', 'a', ['@param {string} a'], ''),
    imports,
  ]
  const made = factory(glue.join('\n'))
  for (const line of [
    'read_text: (arg0, arg1) => text(wasm.read_text(put(arg0), arg0.length, arg1)),',
    'count: () => wasm.count() >>> 0,',
    'tape: (arg0) => take(wasm.tape(put32(arg0), arg0.length)),',
    'named: (arg0) => wasm.named(put((arg0 = utf8(arg0))), arg0.length),',
  ]) {
    assert.ok(made.includes(line), `${line}\n${made}`)
  }
  const odd = documented('odd', 'a', ['@param {Map<string, number>} a'], '')
  assert.throws(() => factory(odd + imports), /cannot call odd/)
  assert.throws(() => factory(`${glue.join('\n')}\n__wbg_now_1: function() {},`), /a new form/)
})
