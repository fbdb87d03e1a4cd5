// What is served, without a browser.
import assert from 'node:assert/strict'
import { get } from 'node:http'
import test, { after, before } from 'node:test'
import { serve } from '../../www/tools/serve.mjs'
import { PATIENCE_MS } from '../patience.mjs'

let site
before(async () => (site = await serve()))
after(() => site?.close())

test('the server outlives odd addresses and serves nothing but the page', async () => {
  const { port } = new URL(site.url)
  const ask = (path) =>
    new Promise((resolve, reject) => {
      const asked = get({ port, host: '127.0.0.1', path, timeout: PATIENCE_MS }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      asked.on('error', reject)
      asked.on('timeout', () => asked.destroy(new Error(`no response to ${path}`)))
    })
  const odd = ['//', '/../package.json', '/turnlock/../../package.json', '/%2e%2e/x', '/model//']
  for (const path of odd) assert.equal(await ask(path), 404, path)
  assert.equal(await ask('/?any=thing'), 200)
})

test('controls and texts can be told from their ground', async () => {
  /** WCAG 2.2, relative luminance and contrast. */
  const luminance = (hex) => {
    const parts = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
    const linear = parts.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
  }
  const contrast = (a, b) => {
    const [dark, light] = [luminance(a), luminance(b)].toSorted((x, y) => x - y)
    return (light + 0.05) / (dark + 0.05)
  }
  const css = await (await fetch(`${site.url}style.css`)).text()
  const tokens = Object.fromEntries(
    [...css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(([, name, ...both]) => [
      name,
      both,
    ]),
  )
  for (const scheme of [0, 1]) {
    const of = (name) => tokens[name][scheme]
    for (const ground of ['paper', 'card', 'raised']) {
      for (const text of ['ink', 'soft', 'accent', 'tool', 'good', 'bad']) {
        assert.ok(contrast(of(text), of(ground)) >= 4.5, `${text} on ${ground}, ${scheme}`)
      }
      for (const mark of ['control', 'model', 'run', 'answer']) {
        assert.ok(contrast(of(mark), of(ground)) >= 3, `${mark} on ${ground}, ${scheme}`)
      }
    }
    assert.ok(contrast(of('on-accent'), of('accent')) >= 4.5)
  }
})
