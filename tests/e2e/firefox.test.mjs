// The page in Firefox: the main path of every view, and a turn that goes on after a reload. A script
// of the same origin drives it (`drive.js`), under the page's own content security policy.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer, request as ask } from 'node:http'
import test from 'node:test'
import { serve } from '../../www/tools/serve.mjs'
import { firefox } from '../consumers/firefox.mjs'

const drive = readFileSync(new URL('./drive.js', import.meta.url))

/** The site, with the script in its page, and a place for what that finds. */
function driven(site, told) {
  return createServer((request, response) => {
    if (request.url === '/drive.js') {
      return response.setHeader('content-type', 'text/javascript').end(drive)
    }
    if (request.url === '/found') {
      let body = ''
      request.on('data', (part) => (body += part))
      return request.on('end', () => {
        told(JSON.parse(body))
        response.end()
      })
    }
    const { method, headers } = request
    const onward = ask(new URL(request.url, site), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers)
      if (request.url !== '/') return answer.pipe(response)
      let html = ''
      answer.on('data', (part) => (html += part))
      answer.on('end', () => {
        const script = '<script type="module" src="./drive.js"></script></head>'
        response.end(html.replace('</head>', script))
      })
    })
    request.pipe(onward)
  })
}

test('every view, and a turn that goes on after a reload', async () => {
  const site = await serve()
  let server
  const found = new Promise((resolve) => {
    server = driven(site.url, resolve)
  })
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  const close = firefox(`http://127.0.0.1:${server.address().port}/`)
  try {
    assert.deepEqual(await found, {
      race: '25,3',
      doctor: 'phase_start',
      bundle: true,
      planner: 'act on what was read',
      chain: true,
      share: true,
      dock: 'object',
      turn: true,
      resumed: true,
      wrong: [],
    })
  } finally {
    await close()
    server.closeAllConnections()
    server.close()
    await site.close()
  }
})
