// What a stranger may send, generated: addresses, bodies, approvals, ids of others. In every runtime.
import assert from 'node:assert/strict'
import { request as send } from 'node:http'
import { connect } from 'node:net'
import { Client, fresh, readEvents } from './client.mjs'

const ROUTES = [
  '',
  '/messages',
  '/messages_two_stage',
  '/messages_two_stage/resume',
  '/messages/x/events',
]

/** Sends a path as it is, which `fetch` does not; the status, or nothing where the server hung up. */
function raw(host, client, method, path) {
  const { hostname, port } = new URL(host.url)
  return new Promise((resolve) => {
    const headers = { ...client.headers, 'content-type': 'application/json' }
    const request = send({ hostname, port, method, path, headers, agent: false }, (response) => {
      let text = ''
      response.on('data', (data) => (text += data))
      response.on('close', () => resolve({ status: response.statusCode, text }))
    })
    request.on('error', () => resolve({}))
    request.end(
      method === 'POST' ? JSON.stringify({ messages: [{ role: 'user', content: 'go' }] }) : '',
    )
  })
}

/** Sends the head of a request and the beginning of its body, and leaves. */
function half(host, client, path, head) {
  const { hostname, port } = new URL(host.url)
  const own = Object.entries({ host: hostname, ...client.headers, ...head })
  const lines = own.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const begun = head['content-length'] ? '{"mess' : '6\r\n{"mess\r\n'
  return new Promise((resolve) => {
    const socket = connect(port, hostname)
    socket.on('close', resolve)
    socket.on('error', () => {})
    socket.write(`POST ${client.base}${path} HTTP/1.1\r\n${lines}\r\n`, () =>
      socket.write(begun, () => socket.destroy()),
    )
  })
}

/** A value, and it in other places. */
const odd = () => [
  null,
  true,
  -1,
  1e308,
  '',
  '\u0000',
  '\ud800',
  'x'.repeat(300),
  [],
  [[]],
  {},
  { a: 1 },
]

export const attacks = {
  async 'odd addresses run nothing and break nothing'(host) {
    const client = new Client(host.url, { script: 'answer' })
    const parts = [
      '..',
      '.',
      '%2e%2e',
      '%2f',
      '%5c',
      '\\',
      '%00',
      '%',
      '%zz',
      '%ff',
      ';a=b',
      '//',
      '*',
      '%0d%0ax:y',
      'é',
      '?',
      '#',
    ]
    let cells = 0
    for (const part of parts) {
      for (const path of [
        `/api/chat/${part}`,
        `/api/chat/${part}/messages`,
        `/api/${part}/chat/messages`,
        `/api/chat/messages/${part}`,
        `/api/chat/messages/${part}/events`,
        `/api/chat/messages${part}`,
        `/${part}/api/chat/messages`,
        `//evil.example/api/chat/messages${part}`,
      ]) {
        for (const method of ['POST', 'GET']) {
          const where = `${method} ${path}`
          const { status, text } = await raw(
            host,
            client,
            method,
            Buffer.from(path).toString('latin1'),
          )
          cells++
          if (status === undefined) continue
          assert.ok(status < 500, `${where}: ${status} ${text}`)
          // What the URL standard makes of a route is that route.
          const { pathname } = new URL(`http://x${path}`)
          if (status === 200 && method === 'POST')
            assert.equal(pathname, '/api/chat/messages', where)
        }
      }
    }
    assert.ok(cells > 250)
    // It goes on serving.
    assert.equal((await client.run()).events.at(-1).type, 'complete')
  },

  async 'spoiled bodies are answered with a code'(host) {
    const client = new Client(host.url, { script: 'answer' })
    const good = {
      messages: [{ role: 'user', content: 'go' }],
      requestId: 'x',
      toolBatchId: 1,
      conversationId: 'c',
      projectId: 'p',
      policy: { maxTools: 1, pauseAfterTools: true },
      approvals: [{ signature: 'a'.repeat(64), approved: true }],
      reason: 'r',
      outcomes: [{ toolCallId: 'a', result: 1 }],
    }
    const spoiled = []
    for (const name of Object.keys(good)) {
      for (const value of odd()) spoiled.push({ ...good, [name]: value })
    }
    for (const value of odd()) {
      spoiled.push({ ...good, messages: [value] })
      spoiled.push({ ...good, messages: [{ role: value, content: value }] })
      spoiled.push({ ...good, policy: { maxTools: value } })
      spoiled.push({ ...good, approvals: [{ signature: value, approved: value }] })
      spoiled.push({ ...good, outcomes: [{ toolCallId: value, result: value }] })
    }
    let cells = 0
    for (const body of spoiled) {
      for (const path of [
        '/messages_two_stage',
        '/messages_two_stage/resume',
        '/messages_two_stage/cancel',
        '/messages_two_stage/pause',
      ]) {
        const own =
          path === '/messages_two_stage' && body.requestId === 'x'
            ? { ...body, requestId: fresh('x') }
            : body
        const response = await client.post(path, own)
        const text = await response.text()
        cells++
        const what = `${path} ${JSON.stringify(own).slice(0, 200)}: ${response.status} ${text.slice(0, 300)}`
        assert.ok(response.status < 500, what)
        if (response.status !== 200)
          assert.match(JSON.parse(text).error.code, /^[a-z]+\.[a-z_]+$/, what)
      }
    }
    assert.ok(cells > 600, `${cells}`)
  },

  async 'a client that leaves in the middle of its body is no error of the server'(host) {
    const client = new Client(host.url, { tenant: fresh('leaves') })
    const type = { 'content-type': 'application/json' }
    for (const path of ['/messages', '/messages/resume', '/cancel', '/pause', '/claim']) {
      for (const head of [{ 'content-length': '100' }, { 'transfer-encoding': 'chunked' }]) {
        await half(host, client, path, { ...type, ...head })
      }
    }
    const under = (base) => Object.assign(client.at(host.url), { base })
    // An error of the server, before which those would have been told.
    assert.equal((await under('/broken').start()).status, 500)
    const told = await (await under('/errors').fetch('')).json()
    assert.deepEqual(told, ['secret: no model'])
  },

  async 'what is unknown and what is another tenant’s are told in the same bytes'(host) {
    const ann = new Client(host.url, { tenant: fresh('ann') })
    const bob = new Client(host.url, { tenant: fresh('bob') })
    const running = fresh('running')
    const gate = host.receiver.hold(ann.session)
    const first = await ann.start({ requestId: running })
    await gate.reached
    const { tenant } = { tenant: ann.headers.authorization.slice('Bearer '.length) }
    const idle = new Client(host.url, { tenant })
    const [paused, ended] = [fresh('paused'), fresh('ended')]
    await idle.run({ requestId: paused, policy: { pauseAfterTools: true } })
    await idle.run({ requestId: ended })
    const asks = {
      attach: (id) => bob.attach(id),
      'attach behind an event': (id) => bob.attach(id, 2),
      resume: (id) => bob.resume(id, { toolBatchId: 1 }),
      'resume with an approval': (id) =>
        bob.resume(id, { approvals: [{ signature: 'a'.repeat(64), approved: true }] }),
      'resume with an outcome': (id) =>
        bob.resume(id, { toolBatchId: 1, outcomes: [{ toolCallId: 'c', result: 1 }] }),
      cancel: (id) => bob.cancel(id),
      pause: (id) => bob.pause(id),
      claim: (id) =>
        bob.post('/messages_two_stage/claim', {
          requestId: id,
          toolBatchId: 1,
          toolCallIds: ['c'],
        }),
    }
    const told = async (response, id) => {
      const headers = [...response.headers].filter(
        ([name]) => !['date', 'connection', 'keep-alive'].includes(name),
      )
      return JSON.stringify([
        response.status,
        headers,
        (await response.text()).replaceAll(id, 'ID'),
      ])
    }
    for (const [name, ask] of Object.entries(asks)) {
      const nobody = fresh('nobody')
      const unknown = await told(await ask(nobody), nobody)
      assert.match(unknown, /^\[404/, `${name}: ${unknown}`)
      for (const id of [running, paused, ended])
        assert.equal(await told(await ask(id), id), unknown, name)
    }
    gate.open()
    assert.equal((await readEvents(first)).events.at(-1).type, 'complete')
    assert.equal(
      (await readEvents(await idle.resume(paused, { toolBatchId: 1 }))).events.at(-1).type,
      'complete',
    )
  },

  async 'no approval but the right one runs anything, also of many at once'(host) {
    const client = new Client(host.url, { base: '/approve', script: 'read-then-note' })
    const requestId = fresh('approve')
    const { events } = await client.run({ requestId, policy: { maxTools: 2 } })
    const { approvals, resume } = events.at(-1)
    const { signature } = approvals[0]
    const next = (digit) => '0123456789abcdef'[(parseInt(digit, 16) + 1) % 16]
    const forged = [
      ...Array.from(
        signature,
        (digit, at) => signature.slice(0, at) + next(digit) + signature.slice(at + 1),
      ),
      signature.toUpperCase(),
      ` ${signature}`,
      signature.slice(1),
      `${signature}0`,
      '',
      '\u0000',
      '*',
      '__proto__',
      null,
      7,
      [signature],
      { signature },
    ]
    const ran = () => host.receiver.ran(client.session).map(({ name }) => name)
    // One by one, and all in one; attempts are counted, so each tells one of two codes.
    const tries = [...forged.map((one) => [one]), forged, [signature, ...forged]]
    const answers = []
    for (const list of tries.filter((_, at) => at % 8 === 0 || at >= 64)) {
      const given = list.map((one) => ({ signature: one, approved: true }))
      const response = await client.resume(requestId, {
        toolBatchId: resume.toolBatchId,
        approvals: given,
      })
      const text = await response.text()
      assert.ok(
        [400, 429].includes(response.status),
        `${JSON.stringify(list)}: ${response.status} ${text}`,
      )
      answers.push(JSON.parse(text).error.code)
    }
    assert.ok(
      answers.includes('tool.no_approval') || answers.includes('request.invalid'),
      `${answers}`,
    )
    assert.deepEqual(ran(), ['read_file'])
  },
}
