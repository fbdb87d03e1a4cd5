// Performs the effects of tools, in a process of its own: it writes a receipt and has it on the
// disk before it answers. Receipts are the truth of these tests, whatever anybody else believes.
//
//   POST /   { trial, key, callId, pid, hold? }  →  { order }
//
// With `hold` the parent is told when the receipt is on the disk, and the answer waits for its
// word. `early` makes the mis-ordered twin that the audit has to convict: it answers first.
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'

const [folder, early] = process.argv.slice(2)
/** Milliseconds that the twin's writing waits: no test lasts as long. */
const LATER = 3_600_000
const waiting = new Map()
let order = 0

function write(receipt) {
  const file = openSync(join(folder, `${receipt.trial}.receipts`), 'a')
  writeSync(file, `${JSON.stringify(receipt)}\n`)
  fsyncSync(file)
  closeSync(file)
}

const server = createServer(async (request, response) => {
  let body = ''
  for await (const piece of request.setEncoding('utf8')) body += piece
  const { hold, ...effect } = JSON.parse(body)
  const receipt = { ...effect, order: ++order }
  const answer = () => response.end(JSON.stringify({ order: receipt.order }))
  if (early) {
    answer()
    return void setTimeout(() => write(receipt), LATER)
  }
  write(receipt)
  if (!hold) return void answer()
  waiting.set(effect.trial, answer)
  process.send({ applied: effect.trial })
})

// No connection is closed under a client that is about to use it again.
server.keepAliveTimeout = 0
process.on('message', ({ release }) => {
  waiting.get(release)?.()
  waiting.delete(release)
})
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
