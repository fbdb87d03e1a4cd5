// Conversations that the provider keeps: `strategy: "thread"` with the Responses API.
import test from 'node:test'
import assert from 'node:assert/strict'
import { anthropic, defineTool, memoryStore, openaiResponses, resumeTurn, runTurn } from 'turnlock'
import { createProvider } from '../../tests/provider/server.mjs'

const provider = await createProvider()
test.after(() => provider.close())

let sessions = 0
/** A model of a new session of the scripted provider, and the bodies that it was sent. */
function scripted(script, own = {}) {
  const session = `kept-${(sessions += 1)}`
  const baseURL = `${provider.url}/s/${session}/${script}/v1`
  const model = openaiResponses({ baseURL, model: 'gpt-5', maxRetries: 0, ...own })
  return { model, sent: () => provider.requests(session).map(({ body }) => body) }
}

const list_files = defineTool({
  description: 'Lists files',
  inputSchema: { type: 'object' },
  readOnly: true,
  execute: () => 'a.txt',
})
const user = (content) => ({ role: 'user', content })
const base = { strategy: 'thread', conversationId: 'c', tools: { list_files } }
const previous = (bodies) => bodies.map((body) => body.previous_response_id)
const kinds = ({ input }) => input.map(({ type, role }) => type ?? role)

test('a turn goes on behind the response that the provider keeps', async () => {
  const { model, sent } = scripted('one-call')
  const messages = [user('Which files are there?')]
  const first = await runTurn({ ...base, model, messages, system: 'Be brief.' }).result
  assert.equal(first.status, 'complete')
  assert.equal(first.responseId, 'resp_2')
  const [asked, answered] = sent()
  assert.deepEqual(previous([asked, answered]), [undefined, 'resp_1'])
  assert.deepEqual([asked.store, answered.store], [true, true])
  // The call is the provider's: only its output goes.
  assert.deepEqual(kinds(asked), ['user'])
  assert.deepEqual(kinds(answered), ['function_call_output'])
  // Instructions are not kept, so each request has its own.
  assert.equal(asked.instructions, 'Be brief.')
  assert.equal(answered.instructions, 'Be brief.')

  const more = [...messages, ...first.messages, user('And now?')]
  const own = { previousResponseId: first.responseId, system: 'Be long.' }
  const second = await runTurn({ ...base, ...own, model, messages: more }).result
  assert.equal(second.status, 'complete')
  const next = sent()[2]
  assert.deepEqual([next.previous_response_id, kinds(next)], ['resp_2', ['user']])
  assert.deepEqual([next.input[0].content, next.instructions], ['And now?', 'Be long.'])
})

test('a response that the provider no longer has costs one request: the whole history', async () => {
  for (const gone of ['resp_gone', 'x']) {
    const { model, sent } = scripted('one-call')
    const messages = [user('Hi'), { role: 'assistant', content: 'Hello' }, user('Which files?')]
    const turn = runTurn({ ...base, model, messages, previousResponseId: gone })
    const { status, inferences, responseId } = await turn.result
    assert.deepEqual([status, inferences], ['complete', 2])
    const bodies = sent()
    assert.deepEqual(previous(bodies), [gone, undefined, 'resp_2'])
    assert.deepEqual(
      bodies.map((body) => body.input.length),
      [1, 3, 1],
    )
    assert.equal(responseId, 'resp_3')
  }
})

test('where the provider has another response than the turn, everything is sent', async () => {
  // A response that is cut off behind its first call is not kept.
  const { model, sent } = scripted('one-call')
  const policy = { readMode: 'first_call' }
  const { status } = await runTurn({ ...base, model, policy, messages: [user('Which?')] }).result
  assert.equal(status, 'complete')
  const [, answered] = sent()
  assert.equal(answered.previous_response_id, undefined)
  assert.deepEqual(kinds(answered).at(-1), 'function_call_output')
  assert.ok(kinds(answered).includes('function_call'))
})

test('every call of a kept response is answered, blocked ones too', async () => {
  for (const mode of ['two_stage', 'unified']) {
    const { model, sent } = scripted('loop')
    const { status } = await runTurn({ ...base, mode, model, messages: [user('Which?')] }).result
    assert.equal(status, 'complete', mode)
    // The scripted provider refuses a call without its output.
    assert.ok(
      previous(sent())
        .slice(1)
        .some((id) => id),
      mode,
    )
  }
})

test('a composed answer is no response, and a resumed turn sends everything', async () => {
  const { model } = scripted('loop')
  const composed = await runTurn({ ...base, mode: 'unified', model, messages: [user('Which?')] })
    .result
  assert.equal(composed.responseId, undefined)

  const store = memoryStore()
  const { model: own, sent } = scripted('one-call')
  const paused = await runTurn({
    ...base,
    model: own,
    messages: [user('Which?')],
    store,
    requestId: 'r',
    policy: { pauseAfterTools: true },
  }).result
  assert.equal(paused.status, 'paused')
  const resumed = await resumeTurn({ requestId: 'r', model: own, store, tools: base.tools }).result
  assert.equal(resumed.status, 'complete')
  assert.deepEqual(previous(sent()), [undefined, undefined])
  assert.equal(resumed.responseId, 'resp_2')
})

test('what is new may be given alone; then nothing stands in for a lost response', async () => {
  const { model, sent } = scripted('one-call')
  const first = await runTurn({ ...base, model, messages: [user('Which files?')] }).result
  const own = { model, messages: [user('And now?')] }
  const second = await runTurn({ ...base, ...own, previousResponseId: first.responseId }).result
  assert.equal(second.status, 'complete')
  assert.deepEqual(previous(sent().slice(2, 3)), ['resp_2'])
  const lost = await runTurn({ ...base, ...own, previousResponseId: 'resp_gone' }).result
  assert.deepEqual([lost.status, lost.error.details], ['failed', { status: 400 }])
})

test('a turn that goes on with another provider is told everything', async () => {
  const store = memoryStore()
  const { model } = scripted('one-call')
  await runTurn({
    ...base,
    model,
    messages: [user('Which?')],
    store,
    requestId: 'r',
    policy: { pauseAfterTools: true },
  }).result
  const baseURL = `${provider.url}/s/kept-elsewhere/answer/v1`
  const other = anthropic({ baseURL, model: 'm', apiKey: 'k', maxRetries: 0 })
  const { status } = await resumeTurn({ requestId: 'r', model: other, store, tools: base.tools })
    .result
  assert.equal(status, 'complete')
  const [{ body }] = provider.requests('kept-elsewhere')
  assert.equal(body.threadId, undefined)
  assert.match(JSON.stringify(body.messages), /Which\?/)
  assert.match(JSON.stringify(body), /TOOL RESULT[^]*a\.txt/)
})

test('misuse is found at the call', () => {
  const { model } = scripted('one-call')
  const messages = [user('Hi')]
  const wrong = (own, path) =>
    assert.throws(
      () => runTurn({ ...base, model, messages, ...own }),
      ({ code, message }) => code === 'options.invalid' && message.includes(path),
      path,
    )
  wrong({ strategy: 'reconstruct', previousResponseId: 'r' }, '`previousResponseId`')
  wrong({ previousResponseId: 7 }, '`previousResponseId`')
  wrong({ model: scripted('one-call', { body: { store: false } }).model }, '`body.store`')
  wrong({ conversationId: undefined }, '`strategy`')
})
