// Frames of an event stream: the short way for lines that end with LF, and the one for CR, give what
// a plain reading of the text has, as soon as its blank line has come, wherever the bytes are cut.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Frames, framesOf } from '../../pkg/dist/proxy/frames.js'
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
        const [frames, data, passed] = [new Frames(), [], []]
        let come = ''
        for (const piece of cutAt(stream, where)) {
          const given = frames.push(piece)
          passed.push(given)
          data.push(...framesOf(given).map((frame) => frame.data))
          come += piece.toString()
          assert.deepEqual(data.filter(Boolean), dataIn(come), JSON.stringify(come))
        }
        assert.deepEqual(Buffer.concat([...passed, frames.end()]), stream)
      }
    },
  )
  await holds('frames', property, 1000)
})
