// Frames of an event stream: the short way for lines that end with LF, and the one for CR, give whole
// frames as soon as their blank line has come, wherever the bytes are cut.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Frames } from '../../pkg/dist/proxy/frames.js'
import { cutAt, cuts, holds } from './hold.mjs'

const lines = fc.constantFrom('data: {"a":1}', 'data:x', 'event: y', ': ping', 'data', '', '')
const END = { LF: '\n', CRLF: '\r\n', CR: '\r' }

/** The data of each whole frame that has any, plainly read. */
function dataIn(text) {
  const blocks = text.replace(/\r\n?/g, '\n').split(/\n\n+/).slice(0, -1)
  const dataOf = (block) =>
    block.split('\n').flatMap((line) => /^data: ?(.*)/.exec(line)?.[1] ?? [])
  return blocks.map((block) => dataOf(block).join('\n')).filter(Boolean)
}

test('frames are given when they are whole, however lines end and wherever bytes are cut', async () => {
  const property = fc.property(
    fc.array(lines, { maxLength: 30 }),
    fc.infiniteStream(fc.constantFrom(...Object.values(END))),
    cuts,
    (all, ends, where) => {
      const streams = [...Object.values(END).map((end) => () => end), () => ends.next().value]
      for (const end of streams) {
        const stream = Buffer.from(all.map((line) => line + end()).join(''))
        const [frames, passed] = [new Frames(), []]
        let come = ''
        for (const piece of cutAt(stream, where)) {
          const given = frames.push(piece)
          passed.push(given)
          come += piece.toString()
          const data = dataIn(Buffer.concat(passed).toString())
          assert.deepEqual(data, dataIn(come), JSON.stringify(come))
          if (given.length > 0) assert.match(Buffer.from(given).toString(), /(?:\n\r?|\r)[\n\r]$/)
        }
        assert.deepEqual(Buffer.concat([...passed, frames.end()]), stream)
      }
    },
  )
  await holds('frames', property, 1000)
})
