// Resumes that must not be: what they say, and that they spend nothing.
import assert from 'node:assert/strict'
import test from 'node:test'
import { defineTool, memoryStore, resumeTurn, runTurn } from 'turnlock'
import { createHandler } from 'turnlock/server'
import { scriptedModel } from 'turnlock/testing'

const messages = [{ role: 'user', content: 'send it' }]
const inputSchema = { type: 'object' }

/** A turn that waits for an approval. */
async function waiting(script = [{ call: 'send', args: { to: 'ann' } }, 'Done.', 'Done.']) {
  const runs = []
  const send = defineTool({
    description: 'Sends.',
    inputSchema,
    needsApproval: true,
    execute: (args) => (runs.push(args), 'sent'),
  })
  const parts = { model: scriptedModel(script), tools: { send }, store: memoryStore() }
  const turn = runTurn({ ...parts, messages, requestId: 'r' })
  let paused
  for await (const event of turn) paused = event
  assert.equal(paused.type, 'paused')
  const approvals = paused.approvals.map(({ signature }) => ({ signature, approved: true }))
  const resume = (more = {}) => resumeTurn({ ...parts, requestId: 'r', approvals, ...more })
  return { runs, parts, approvals, resume }
}

test('whoever loses against another resume says nothing of what the tool did', async () => {
  const { runs, resume } = await waiting()
  const both = await Promise.all([resume().result, resume().result])
  const won = both.find(({ status }) => status === 'complete')
  const lost = both.find(({ status }) => status === 'failed')
  assert.deepEqual([runs.length, won.toolResults[0].status], [1, 'ok'])
  assert.equal(lost.error.code, 'turn.conflict')
  assert.deepEqual(
    lost.toolResults.map(({ status, error }) => [status, error?.code]),
    [['unknown', 'tool.outcome_unknown']],
  )
  assert.doesNotMatch(JSON.stringify(lost), /cancelled|ended before/)
})

test('a turn that was cancelled before it began was cancelled', async () => {
  const parts = { model: scriptedModel([]), store: memoryStore(), requestId: 'r' }
  const turn = runTurn({ ...parts, messages, signal: AbortSignal.abort('no') })
  assert.equal((await turn.result).status, 'cancelled')
  const { status, error } = await resumeTurn(parts).result
  assert.deepEqual([status, error.code], ['failed', 'turn.cancelled'])
})

test('an approval of a call whose tool is missing is refused, and spends nothing', async () => {
  const { runs, resume, parts } = await waiting()
  const other = defineTool({ description: 'o', inputSchema, execute: () => 1 })
  for (const tools of [{}, undefined, { other }]) {
    const { status, error } = await resume({ tools }).result
    assert.deepEqual([status, error.code], ['failed', 'tool.missing'])
    assert.match(error.message, /`tools`: expected send/)
  }
  assert.deepEqual([runs.length, parts.model.requests.length], [0, 1])
  assert.deepEqual([(await resume().result).status, runs.length], ['complete', 1])
})

test('a call whose tool is missing can be refused', async () => {
  const { runs, resume, approvals } = await waiting()
  const no = approvals.map((one) => ({ ...one, approved: false }))
  const { status } = await resume({ tools: {}, approvals: no }).result
  assert.deepEqual([status, runs.length], ['complete', 0])
})

test('a handler without the tool answers 409, and the turn has not ended', async () => {
  const { runs, approvals, parts } = await waiting()
  const ended = []
  const handlerOf = (tools) =>
    createHandler({
      ...parts,
      tools,
      authorize: () => ({ tenant: 't' }),
      onEnd: ({ status }) => ended.push(status),
    })
  const ask = (handler, path, body) =>
    handler(
      new Request(`https://edge.example/api/chat${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    )
  const model = scriptedModel([{ call: 'send', args: { to: 'ann' } }, 'Done.'])
  Object.assign(parts, { model })
  await (await ask(handlerOf(parts.tools), '', { messages, requestId: 'h' })).text()
  const refused = await ask(handlerOf({}), '/resume', { requestId: 'h', approvals })
  const { error } = await refused.json()
  assert.deepEqual([refused.status, error.code, ended], [409, 'tool.missing', []])
  const response = await ask(handlerOf(parts.tools), '/resume', { requestId: 'h', approvals })
  assert.match(await response.text(), /"type":"complete"/)
  assert.deepEqual([runs.length, ended], [1, ['complete']])
})

test('approvals that are none say what is wrong with which member', async () => {
  const { resume, approvals } = await waiting()
  const [{ signature }] = approvals
  for (const [given, message] of [
    ['all', '`approvals`: expected a list of { signature, approved }'],
    [[null], '`approvals[0]`: expected { signature, approved }'],
    [
      [approvals[0], { signature: 'abc', approved: true }],
      '`approvals[1].signature`: expected the 64 hexadecimal digits that the `paused` event has',
    ],
    [[{ signature }], '`approvals[0].approved`: expected true or false'],
    [[{ signature, approved: false, reason: 7 }], '`approvals[0].reason`: expected a string'],
    [
      [{ signature, aproved: true }],
      '`approvals[0].aproved`: expected a known option; did you mean `approved`?',
    ],
  ]) {
    assert.throws(() => resume({ approvals: given }), { code: 'options.invalid', message })
  }
  assert.equal((await resume().result).status, 'complete')
})
