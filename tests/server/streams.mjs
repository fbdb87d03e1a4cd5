// The bytes of an answer: what is written is what is parsed, with comments in between.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { anyCharacter } from '../properties/any-character.mjs'
import { Client, readEvents } from './client.mjs'

const NASTY = [
  'a\rb',
  'a\nb',
  'a\r\nb\r\n\r\n',
  '\n\ndata: {"type":"complete"}\n\n',
  'id: 7\nevent: x\nretry: 0\n: comment',
  '\u2028 \u2029 \u0085 \u000b \u000c',
  '\u0000 \u0007 \u001b[2J \u007f',
  '\ufeff\ufeff',
  '😀 e\u0301 \u202e \u{e0041}',
  '"\\"\\\\',
  '</script><!--',
]

/** A turn whose model sends these chunks. */
async function start(host, chunks) {
  const client = new Client(host.url, { base: '/chunks' })
  const headers = { 'x-chunks': encodeURIComponent(JSON.stringify(chunks)) }
  return { client, response: await client.start({}, '/messages_two_stage', { headers }) }
}

async function said(host, chunks) {
  const { client, response } = await start(host, chunks)
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  const { events, ids } = await readEvents(response)
  assert.equal(events.at(-1).type, 'complete', JSON.stringify(events.at(-1)))
  // One SSE event for each: none was split, none injected.
  assert.deepEqual(
    ids,
    events.map((event) => String(event.seq)),
  )
  assert.deepEqual(
    events.map((event) => event.seq),
    events.map((_, at) => at + 1),
  )
  const text = events.flatMap((event) => (event.type === 'text' ? [event.chunk] : [])).join('')
  assert.equal(events.at(-1).fullContent, text)
  const again = await readEvents(await client.attach(events[0].requestId, 0))
  assert.deepEqual(again.events, events)
  return text
}

export const streams = {
  async 'text of any kind comes through as it is'(host) {
    // Beside a visible character: an answer of blanks is none.
    for (const chunk of NASTY) {
      for (const chunks of [
        [chunk, '.'],
        ['.', chunk],
      ]) {
        assert.equal(await said(host, chunks), chunks.join(''))
      }
    }
    assert.equal(await said(host, NASTY), NASTY.join(''))
    const unit = fc.oneof(
      fc.constantFrom('\r', '\n', '\u2028', '\u0000', 'data: ', 'id: ', ':', '\ufeff'),
      fc.string({ unit: anyCharacter }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(unit, { minLength: 1, maxLength: 8 }), async (chunks) => {
        const visible = [...chunks, '.']
        assert.equal(await said(host, visible), visible.join(''))
      }),
      { numRuns: 60 },
    )
  },

  async 'an answer of blanks is an error, and none of them is sent'(host) {
    for (const chunks of [[' '], ['\u2028 \u2029', ' \u0085 \u000b \u000c'], ['\r', '\n']]) {
      const { events } = await readEvents((await start(host, chunks)).response)
      assert.deepEqual(
        events.map((event) => event.type),
        ['phase_start', 'error'],
      )
      assert.equal(events.at(-1).code, 'model.empty')
    }
  },

  async 'half a character stays half a character, or becomes a replacement'(host) {
    const text = await said(host, ['\ud83d', '\ude00', ' \udc00x'])
    assert.match(text, /^(\ud83d|\ufffd)(\ude00|\ufffd) (\udc00|\ufffd)x$/)
  },

  async 'the head says what it is, and names the turn'(host) {
    const client = new Client(host.url, { script: 'answer' })
    const mine = await client.start({ requestId: 'my:id-1.x_' + client.session })
    assert.equal(mine.headers.get('x-request-id'), 'my:id-1.x_' + client.session)
    assert.match(mine.headers.get('cache-control'), /no-cache/)
    assert.match(mine.headers.get('cache-control'), /no-transform/)
    assert.equal(mine.headers.get('x-accel-buffering'), 'no')
    const { events } = await readEvents(mine)
    assert.ok(events.every((event) => event.requestId === mine.headers.get('x-request-id')))
    const made = await client.start()
    assert.match(made.headers.get('x-request-id'), /^[0-9a-f-]{36}$/)
    await made.arrayBuffer()
  },

  async 'a silent turn says that it is alive, and events come through between'(host) {
    const client = new Client(host.url, { base: '/quick' })
    const gate = host.receiver.hold(client.session)
    const response = await client.start()
    const alive = (_, comments) => comments.length >= 3 && gate.open()
    const { events, comments } = await readEvents(response, alive)
    assert.ok(comments.length >= 3)
    assert.ok(comments.every((comment) => comment.trim() === 'keep-alive'))
    assert.equal(events.at(-1).type, 'complete')
    assert.deepEqual(
      events.map((event) => event.seq),
      events.map((_, at) => at + 1),
    )
  },

  async 'a client that reads nothing holds the model back, and gets everything in the end'(host) {
    // Many small events: the text stays below what a response may have until all buffers are full.
    const [texts, length, times] = [Array(60).fill('0123456789\n'), 4, 1200]
    const characters = texts.join('').length * length * times
    const headers = {
      'x-chunks': encodeURIComponent(JSON.stringify(texts)),
      'x-length': String(length),
      'x-times': String(times),
    }
    const start = (client) => client.start({}, '/messages_two_stage', { headers })
    const [slow, fast] = [1, 2].map(() => new Client(host.url, { base: '/chunks' }))
    const unread = await start(slow)
    const { events } = await readEvents(await start(fast))
    assert.equal(events.at(-1).fullContent.length, characters)
    // What is between the two was filled while the other turn ran; the model is far from its end.
    const said = await (await new Client(host.url, { base: '/said' }).fetch('')).json()
    assert.equal(said[fast.session], times)
    assert.ok(said[slow.session] < times, `${said[slow.session]} of ${times}`)
    const late = (await readEvents(unread)).events
    assert.equal(late.at(-1).fullContent.length, characters)
    assert.deepEqual(
      late.map((event) => event.seq),
      late.map((_, at) => at + 1),
    )
    // Whoever leaves holds nothing back.
    const gone = new Client(host.url, { base: '/chunks' })
    const left = new AbortController()
    const all = { headers, signal: left.signal }
    const response = await gone.start({ requestId: gone.session }, '/messages_two_stage', all)
    left.abort()
    assert.equal(response.status, 200)
    const after = events.at(-1).seq - 1
    const end = (await readEvents(await gone.attach(gone.session, after))).events
    assert.deepEqual(
      end.map((event) => event.type),
      ['complete'],
    )
  },
}
