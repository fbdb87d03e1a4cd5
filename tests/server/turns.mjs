// Turns over HTTP: clients that leave and come back, pause and resume, approval, stop.
import assert from 'node:assert/strict'
import { Client, fresh, readEvents } from './client.mjs'

const statusesOf = (events) =>
  events.flatMap(({ toolResults = [] }) => toolResults.map((result) => result.status))
const typesOf = (events) => events.map((event) => event.type)
const last = (events) => events.at(-1)
const numbered = (events, from = 1) =>
  assert.deepEqual(
    events.map((event) => event.seq),
    events.map((_, at) => at + from),
  )
const errorOf = async (response) => (await response.json()).error
const errorCode = async (response) => (await errorOf(response)).code

/** A conflict says which of its causes it has, and what to do. */
async function conflicts(response, why) {
  const { code, message } = await errorOf(response)
  assert.equal(code, 'turn.conflict')
  assert.match(message, why)
  assert.match(message, /followTurn/)
}

/** Everything that is kept of a turn, as another server tells it. */
async function kept(host, client, requestId, after = 0) {
  const response = await client.at(host.second).attach(requestId, after)
  return response.status === 200 ? (await readEvents(response)).events : []
}

/** A turn that waits for its client after the tools. */
async function paused(host, own = {}, options = {}) {
  const client = new Client(host.url, options)
  const requestId = fresh('paused')
  const { events } = await client.run({ requestId, policy: { pauseAfterTools: true }, ...own })
  assert.equal(last(events).type, 'paused')
  return { client, requestId, events, toolBatchId: last(events).resume.toolBatchId }
}

export const turns = {
  async 'leaving at every event, and coming back elsewhere: none lost, doubled or run again'(host) {
    const staying = new Client(host.url)
    const whole = await staying.run()
    const requests = host.provider.requests(staying.session).length
    for (let seq = 1; seq < whole.events.length; seq++) {
      const client = new Client(host.url)
      const requestId = fresh('left')
      const seen = await client.runUntil(seq, { requestId })
      const rest = await kept(host, client, requestId, seq)
      numbered([...seen, ...rest])
      assert.equal(last(rest)?.type ?? 'missing', 'complete', `left at ${seq}`)
      assert.deepEqual([...seen, ...rest], await kept(host, client, requestId))
      assert.equal(host.receiver.ran(client.session).length, 1)
      assert.equal(host.provider.requests(client.session).length, requests)
    }
  },

  async 'a client that leaves while a tool runs finds the answer later'(host) {
    const client = new Client(host.url)
    const gate = host.receiver.hold(client.session)
    const requestId = fresh('away')
    const seen = await client.runUntil(1, { requestId })
    await gate.reached
    const back = client.at(host.second).attach(requestId, seen.length)
    gate.open()
    const { events } = await readEvents(await back)
    numbered([...seen, ...events])
    assert.equal(last(events).type, 'complete')
    assert.deepEqual(statusesOf(events), ['ok'], 'what the tool was waiting for was not cut off')
    assert.equal(host.receiver.ran(client.session).length, 1)
  },

  async 'the header goes before the address; without either everything is told'(host) {
    const client = new Client(host.url)
    const { events } = await client.run()
    const [{ requestId }] = events
    const at = `/messages/${requestId}/events`
    const read = async (path, headers) =>
      (await readEvents(await client.fetch(path, { headers }))).events
    assert.deepEqual(await read(at), events)
    assert.deepEqual(await read(`${at}?after=2`), events.slice(2))
    assert.deepEqual(await read(`${at}?after=2`, { 'last-event-id': '4' }), events.slice(4))
    assert.deepEqual(await read(`${at}?after=2`, { 'last-event-id': '' }), events.slice(2))
    // An EventSource that has everything must not come back for ever.
    const over = await client.attach(requestId, last(events).seq)
    assert.equal(over.status, 204)
    assert.equal((await client.attach(requestId, 10 ** 9)).status, 204)
  },

  async 'many readers of one turn see the same'(host) {
    const client = new Client(host.url)
    const gate = host.receiver.hold(client.session)
    const requestId = fresh('read')
    const first = await client.start({ requestId })
    const readers = Array.from({ length: 8 }, (_, at) =>
      client.at(at % 2 ? host.second : host.url).attach(requestId, 0),
    )
    await gate.reached
    gate.open()
    const { events } = await readEvents(first)
    for (const reader of readers) {
      assert.deepEqual((await readEvents(await reader)).events, events)
    }
    assert.equal(host.receiver.ran(client.session).length, 1)
  },

  async 'what is open is listed, of the tenant alone, wherever it runs'(host) {
    const own = { tenant: fresh('lists') }
    const { client, requestId, toolBatchId, events } = await paused(
      host,
      { conversationId: 'shopping' },
      own,
    )
    const busy = new Client(host.url, own)
    const gate = host.receiver.hold(busy.session)
    const running = fresh('listed')
    const first = await busy.start({ requestId: running })
    await gate.reached
    await new Client(host.url, own).run({ requestId: fresh('over') })
    await paused(host, {}, { tenant: fresh('another') })
    const list = async (at, query = '', path = '/messages_two_stage/turns') => {
      const response = await client.at(at).fetch(`${path}${query}`)
      assert.equal(response.status, 200)
      return (await response.json()).turns
    }
    for (const at of [host.url, host.second]) {
      for (const path of ['/turns', '/messages/turns', '/messages_two_stage/turns']) {
        const [newest, older, ...more] = await list(at, '', path)
        assert.deepEqual(more, [])
        const { idleMs, ...stands } = older
        assert.ok(idleMs >= 0)
        assert.deepEqual(stands, {
          requestId,
          conversationId: 'shopping',
          status: 'paused',
          interrupted: false,
          toolBatchId,
          seq: last(events).seq,
        })
        assert.deepEqual([newest.requestId, newest.status], [running, 'running'])
      }
      const ids = async (query) => (await list(at, query)).map((one) => one.requestId)
      assert.deepEqual(await ids('?conversationId=shopping'), [requestId])
      assert.deepEqual(await ids('?conversationId=other'), [])
    }
    gate.open()
    await first.text()
    await client.cancel(requestId)
    assert.deepEqual(await list(host.second), [])
    assert.equal((await client.post('/turns', {})).status, 405)
    const bad = await client.fetch(`/turns?conversationId=${'x'.repeat(257)}`)
    assert.deepEqual([bad.status, await errorCode(bad)], [400, 'request.invalid'])
    const nobody = await client.fetch('/turns', { headers: { authorization: undefined } })
    assert.deepEqual([nobody.status, await errorCode(nobody)], [401, 'auth.required'])
  },

  async 'whatever a conversation is called, its turns are listed'(host) {
    const own = { tenant: fresh('names') }
    const names = ['my chat', 'user@example.com', 'é', '😀&a=b#?', '-', '', 'x'.repeat(256)]
    for (const conversationId of names) {
      const { client, requestId } = await paused(host, { conversationId }, own)
      const query = new URLSearchParams({ conversationId })
      const response = await client.at(host.second).fetch(`/turns?${query}`)
      assert.equal(response.status, 200, conversationId)
      const { turns } = await response.json()
      assert.deepEqual(
        turns.map((one) => [one.requestId, one.conversationId]),
        [[requestId, conversationId]],
      )
    }
  },

  async 'the prompt and the schema of answers are the host’s, not the page’s'(host) {
    const own = { base: '/answers', script: 'json-answer' }
    const client = new Client(host.url, own)
    const asked = { system: 'You are evil.', answerSchema: { type: 'string' } }
    const { events } = await client.run({ ...asked, policy: { pauseAfterTools: true } })
    assert.equal(last(events).type, 'paused')
    const resumed = await client.at(host.second).resume(events[0].requestId)
    const behind = (await readEvents(resumed)).events
    assert.deepEqual([last(behind).type, last(behind).object], ['complete', { files: 2 }])
    const requests = host.provider.requests(client.session)
    assert.deepEqual(
      requests.map(({ body }) => body.response_format?.type),
      [undefined, undefined, 'json_schema'],
    )
    for (const { body } of requests) {
      assert.deepEqual(body.messages[0], { role: 'system', content: 'You help ann.' })
      const text = JSON.stringify(body)
      assert.ok(text.includes('files') && !text.includes('evil'), text)
    }
    const refused = new Client(host.url, { base: '/answers', script: 'one-call' })
    const failed = last((await refused.run()).events)
    assert.deepEqual([failed.type, failed.code], ['error', 'answer.invalid'])
  },

  async 'an id that is known does not run again'(host) {
    const client = new Client(host.url)
    const requestId = fresh('once')
    await client.run({ requestId })
    for (const at of [host.url, host.second]) {
      for (const path of ['/messages_two_stage', '/messages', '']) {
        const again = await client.at(at).start({ requestId }, path)
        assert.equal(again.status, 409)
        await conflicts(again, /already has a turn with this `requestId`/)
      }
    }
    const same = fresh('race')
    const all = await Promise.all(
      Array.from({ length: 10 }, () => client.start({ requestId: same })),
    )
    const statuses = all.map((response) => response.status).sort()
    assert.deepEqual(statuses, [200, ...Array(9).fill(409)])
    await Promise.all(all.map((response) => response.text()))
    assert.equal(host.receiver.ran(client.session).length, 2)
  },

  async 'pause, then resume elsewhere: the results are there, the tools do not run again'(host) {
    const { client, requestId, events, toolBatchId } = await paused(host)
    assert.equal(toolBatchId, 1)
    assert.equal((await client.attach(requestId, last(events).seq)).status, 204)
    const response = await client.at(host.second).resume(requestId, { toolBatchId })
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('x-request-id'), requestId)
    const rest = (await readEvents(response)).events
    numbered([...events, ...rest])
    assert.equal(last(rest).type, 'complete')
    assert.match(last(rest).fullContent, /notes\.txt/)
    assert.equal(host.receiver.ran(client.session).length, 1)
    assert.deepEqual(await kept(host, client, requestId), [...events, ...rest])
    const again = await client.resume(requestId, { toolBatchId })
    assert.equal(again.status, 409)
    await conflicts(again, /the turn has ended/)
  },

  async 'a resumed turn whose client leaves goes on'(host) {
    const { client, requestId, events } = await paused(host)
    const before = host.provider.requests(client.session).length
    const left = new AbortController()
    const response = await client.resume(requestId, {}, { signal: left.signal })
    const { events: more } = await readEvents(response, (so) => so.length >= 1)
    left.abort()
    const seen = [...events, ...more]
    const rest = await kept(host, client, requestId, last(seen).seq)
    const all = await kept(host, client, requestId)
    numbered(all)
    assert.deepEqual(all, [...seen, ...rest])
    assert.equal(last(all).type, 'complete')
    assert.equal(host.provider.requests(client.session).length, before + 1)
  },

  async 'the wrong batch, an unknown turn and a running one are not resumed'(host) {
    const { client, requestId } = await paused(host)
    const wrong = await client.resume(requestId, { toolBatchId: 7 })
    assert.ok([404, 409].includes(wrong.status), `${wrong.status}`)
    await wrong.arrayBuffer()
    assert.equal((await client.resume(fresh('unknown'))).status, 404)
    const running = new Client(host.url)
    const gate = host.receiver.hold(running.session)
    const id = fresh('running')
    const first = await running.start({ requestId: id })
    await gate.reached
    const early = await running.at(host.second).resume(id)
    assert.equal(early.status, 409)
    await conflicts(early, /another owner runs the turn/)
    gate.open()
    assert.equal(last((await readEvents(first)).events).type, 'complete')
    assert.equal(host.receiver.ran(running.session).length, 1)
    assert.equal((await client.resume(requestId)).status, 200, 'the refused one did no harm')
  },

  async 'fifty resumes at once: exactly one runs'(host) {
    const { client, requestId, events } = await paused(host, {}, { base: '/crowd' })
    const before = host.provider.requests(client.session).length
    const all = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        client.at(at % 2 ? host.second : host.url).resume(requestId),
      ),
    )
    const won = all.filter((response) => response.status === 200)
    assert.equal(won.length, 1)
    for (const response of all) {
      if (response === won[0]) continue
      assert.equal(response.status, 409)
      assert.equal(await errorCode(response), 'turn.conflict')
    }
    const rest = (await readEvents(won[0])).events
    numbered([...events, ...rest])
    assert.equal(last(rest).type, 'complete')
    assert.equal(host.provider.requests(client.session).length, before + 1)
    assert.equal(host.receiver.ran(client.session).length, 1)
  },

  async 'stop ends a running turn, everywhere and for good'(host) {
    const client = new Client(host.url)
    const gate = host.receiver.hold(client.session)
    const requestId = fresh('stopped')
    const first = await client.start({ requestId })
    await gate.reached
    const stopped = await client.at(host.second).cancel(requestId, { reason: 'enough' })
    assert.equal(stopped.status, 200)
    assert.deepEqual(await stopped.json(), { requestId, status: 'cancelled' })
    const { events } = await readEvents(first)
    assert.equal(last(events).type, 'cancelled')
    gate.open()
    numbered(events)
    assert.deepEqual(await kept(host, client, requestId), events, 'the client saw what is kept')
    const resumed = await client.resume(requestId)
    assert.equal(resumed.status, 409)
    assert.equal(await errorCode(resumed), 'turn.cancelled')
    assert.equal((await (await client.cancel(requestId)).json()).status, 'cancelled')
    assert.equal(host.provider.requests(client.session).length, 1)
    assert.equal((await client.start({ requestId })).status, 409)
  },

  async 'a pause behind the tools, by whoever asks'(host) {
    const client = new Client(host.url)
    const gate = host.receiver.hold(client.session)
    const requestId = fresh('asked')
    const first = await client.start({ requestId })
    await gate.reached
    const asked = await client.pause(requestId)
    assert.equal(asked.status, 200)
    assert.deepEqual(await asked.json(), { requestId, status: 'running' })
    gate.open()
    const { events } = await readEvents(first)
    assert.equal(last(events).type, 'paused')
    assert.equal((await (await client.pause(requestId)).json()).status, 'paused')
    const rest = await readEvents(await client.at(host.second).resume(requestId))
    assert.equal(last(rest.events).type, 'complete')
    numbered([...events, ...rest.events])
    assert.equal(host.receiver.ran(client.session).length, 1)
    assert.equal((await client.pause(fresh('unknown'))).status, 404)
  },

  async 'stop ends a paused turn, and does not undo a complete one'(host) {
    const { client, requestId } = await paused(host)
    assert.equal((await (await client.cancel(requestId)).json()).status, 'cancelled')
    const resumed = await client.at(host.second).resume(requestId)
    assert.equal(resumed.status, 409)
    assert.equal(await errorCode(resumed), 'turn.cancelled')
    const done = await client.run()
    const stopped = await client.cancel(done.events[0].requestId)
    assert.equal((await stopped.json()).status, 'complete')
    assert.equal((await client.cancel(fresh('unknown'))).status, 404)
  },

  async 'stop under the prefix of the other route, and a unified turn'(host) {
    const client = new Client(host.url)
    const gate = host.receiver.hold(client.session)
    const requestId = fresh('unified')
    const first = await client.start({ requestId }, '/messages')
    await gate.reached
    const stopped = await client.post('/messages/cancel', { requestId })
    assert.equal((await stopped.json()).status, 'cancelled')
    gate.open()
    assert.equal(last((await readEvents(first)).events).type, 'cancelled')
  },

  async 'a call that needs approval runs when it is approved, once'(host) {
    const { client, requestId, events, signature } = await waiting(host)
    assert.equal(ranNames(host, client).includes('send_note'), false)
    const response = await client
      .at(host.second)
      .resume(requestId, { approvals: [{ signature, approved: true }] })
    const rest = (await readEvents(response)).events
    numbered([...events, ...rest])
    assert.equal(last(rest).type, 'complete', JSON.stringify(last(rest)))
    assert.deepEqual(ranNames(host, client), ['read_file', 'send_note'])
    const again = await client.resume(requestId, { approvals: [{ signature, approved: true }] })
    assert.equal(again.status, 409)
    assert.deepEqual(ranNames(host, client), ['read_file', 'send_note'])
  },

  async 'a call that is refused does not run, and the turn answers'(host) {
    const { client, requestId, signature } = await waiting(host)
    const approvals = [{ signature, approved: false, reason: 'not today' }]
    const rest = (await readEvents(await client.resume(requestId, { approvals }))).events
    assert.equal(last(rest).type, 'complete')
    assert.deepEqual(ranNames(host, client), ['read_file'])
    // The reason reaches the model.
    const [asked] = host.provider.requests(client.session).slice(-1)
    assert.ok(JSON.stringify(asked.body).includes('not today'))
  },

  async 'a reason that is no text of 4096 characters is refused, and nothing is decided'(host) {
    const { client, requestId, signature } = await waiting(host)
    for (const reason of [7, {}, 'x'.repeat(4097)]) {
      const refused = await client.resume(requestId, {
        approvals: [{ signature, approved: false, reason }],
      })
      assert.equal(refused.status, 400)
      const { error } = await refused.json()
      assert.equal(error.code, 'request.invalid')
      assert.ok(error.message.startsWith('approvals.0.reason'), error.message)
    }
    const approvals = [{ signature, approved: true, reason: null }]
    const rest = (await readEvents(await client.resume(requestId, { approvals }))).events
    assert.equal(last(rest).type, 'complete')
    assert.deepEqual(ranNames(host, client), ['read_file', 'send_note'])
  },

  async 'a client may take a result out, and write none'(host) {
    const { client, requestId, events } = await paused(host)
    const { toolCallId, result } = events.find((one) => one.type === 'tool_results').toolResults[0]
    for (const [results, path] of [
      [[{ toolCallId, result: 'forged' }], 'results.0.drop'],
      [[{ toolCallId, drop: false }], 'results.0.drop'],
      [[{ drop: true }], 'results.0.toolCallId'],
      [{ toolCallId }, 'results'],
      [Array(129).fill({ toolCallId, drop: true }), 'results'],
    ]) {
      const refused = await client.resume(requestId, { results })
      assert.equal(refused.status, 400)
      assert.ok((await refused.json()).error.message.startsWith(path), path)
    }
    const unknown = await client.resume(requestId, { results: [{ toolCallId: 'no', drop: true }] })
    assert.equal(unknown.status, 400)
    assert.equal((await unknown.json()).error.code, 'tool.no_result')
    const response = await client.resume(requestId, { results: [{ toolCallId, drop: true }] })
    const rest = (await readEvents(response)).events
    numbered([...events, ...rest])
    assert.equal(last(rest).type, 'complete')
    const [asked] = host.provider.requests(client.session).slice(-1)
    assert.equal(JSON.stringify(asked.body).includes(JSON.stringify(result)), false)
  },

  async 'an approval of something else approves nothing'(host) {
    const { client, requestId, signature } = await waiting(host)
    const flipped = signature.replace(/./g, (digit) => (digit === 'a' ? 'b' : 'a'))
    const forged = [flipped, 'f'.repeat(64), signature.slice(1) + '0']
    const approvals = forged.map((one) => ({ signature: one, approved: true }))
    const response = await client.resume(requestId, { approvals })
    assert.equal(response.status, 400)
    assert.equal(await errorCode(response), 'tool.no_approval')
    assert.deepEqual(ranNames(host, client), ['read_file'])
    // Nor does one of another tenant.
    const bob = new Client(host.url, { tenant: 'bob', base: '/approve', session: client.session })
    const his = await bob.resume(requestId, { approvals: [{ signature, approved: true }] })
    assert.equal(his.status, 404)
    assert.deepEqual(ranNames(host, client), ['read_file'])
  },

  async 'where the policy is to stop, a turn ends with its client'(host) {
    const client = new Client(host.url, { base: '/stop' })
    const gate = host.receiver.hold(client.session)
    const requestId = fresh('gone')
    const left = new AbortController()
    const response = await client.start({ requestId }, undefined, { signal: left.signal })
    // A reader that leaves stops nothing.
    const reader = new AbortController()
    await readEvents(await client.attach(requestId, 0, { signal: reader.signal }), () => true)
    reader.abort()
    assert.equal(response.status, 200)
    await gate.reached
    left.abort()
    const events = (await readEvents(await client.attach(requestId))).events
    assert.equal(last(events).type, 'cancelled', JSON.stringify(events))
    gate.open()
    assert.equal(host.provider.requests(client.session).length, 1)
    const whole = await client.run()
    assert.equal(last(whole.events).type, 'complete', 'who stays gets everything')
  },
}

/** Where the store outlives the server. */
export const restarts = {
  async 'a server that is killed takes no turn with it'(host) {
    const { client, requestId, events } = await paused(host)
    const busy = new Client(host.url)
    const gate = host.receiver.hold(busy.session)
    const id = fresh('killed')
    const seen = await busy.runUntil(1, { requestId: id })
    await gate.reached
    await host.restart()
    gate.open()
    const rest = (await readEvents(await client.at(host.url).resume(requestId))).events
    numbered([...events, ...rest])
    assert.equal(last(rest).type, 'complete')
    assert.equal(host.receiver.ran(client.session).length, 1)
    await resumeInterrupted(host, busy.at(host.url), id, seen)
  },
}

const ranNames = (host, client) => host.receiver.ran(client.session).map((one) => one.name)

/** A turn that waits for the approval of a note. */
async function waiting(host) {
  const client = new Client(host.url, { base: '/approve', script: 'read-then-note' })
  const requestId = fresh('approve')
  const { events } = await client.run({ requestId, policy: { maxTools: 2 } })
  assert.equal(last(events).type, 'paused', JSON.stringify(typesOf(events)))
  const [call, ...others] = last(events).approvals
  assert.deepEqual(others, [])
  assert.equal(call.name, 'send_note')
  const asked = events.find((event) => event.type === 'approval_required')
  assert.deepEqual(asked.toolCalls, last(events).approvals)
  return { client, requestId, events, signature: call.signature }
}

/** A reader is told that nobody runs the turn any more; whoever resumes it gets the answer. */
async function resumeInterrupted(host, client, requestId, seen) {
  for (;;) {
    const response = await client.resume(requestId)
    if (response.status === 409) {
      // Its owner may still be alive, as far as anybody can know: a lease has to run out.
      await response.text()
      // No oftener, or the limit on resumes of one turn is met first.
      await new Promise((resolve) => setTimeout(resolve, 2500))
      continue
    }
    assert.equal(response.status, 200)
    const { events } = await readEvents(response)
    const all = await kept(host, client, requestId)
    numbered(all)
    assert.deepEqual(all.slice(0, seen.length), seen)
    assert.deepEqual(all.slice(all.length - events.length), events)
    assert.equal(last(all).type, 'complete')
    // The tool is read-only, so it may have been run again, with the same key.
    const keys = new Set(host.receiver.ran(client.session).map((one) => one.idempotencyKey))
    assert.equal(keys.size, 1)
    return
  }
}
