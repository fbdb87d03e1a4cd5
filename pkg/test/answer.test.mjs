// `answerSchema`, `system` and `textStream` of turns that run here.
import assert from 'node:assert/strict'
import test from 'node:test'
import * as v from 'valibot'
import { z } from 'zod'
import { customModel, memoryStore, resumeTurn, runTurn } from 'turnlock'
import { scriptedModel } from 'turnlock/testing'

const messages = [{ role: 'user', content: 'go' }]
const says = (...texts) => scriptedModel(texts)

test('the object is what the validator made of the answer', async () => {
  const answerSchema = z.object({ at: z.string().transform((text) => text.length) })
  // The schema of what goes in, not of what comes out.
  const model = says('{"at":"noon"}')
  const { status, object, text } = await runTurn({ model, messages, answerSchema }).result
  assert.deepEqual([status, object, text], ['complete', { at: 4 }, '{"at":"noon"}'])
  assert.match(JSON.stringify(model.requests[0]), /"at":\{"type":"string"\}/)
})

test('what has no JSON is the host’s value; the event has the answer itself', async () => {
  const answerSchema = {
    '~standard': {
      version: 1,
      vendor: 'own',
      jsonSchema: { input: () => ({ type: 'object' }) },
      validate: ({ at }) => ({ value: { at: new Date(at) } }),
    },
  }
  const turn = runTurn({ model: says('{"at":0}'), messages, answerSchema })
  let complete
  for await (const event of turn) complete = event
  assert.deepEqual((await turn.result).object, { at: new Date(0) })
  assert.deepEqual([complete.type, complete.object], ['complete', { at: 0 }])
})

test('answers that are no objects', async () => {
  for (const [answerSchema, text, value] of [
    [{ type: 'array', items: { type: 'number' } }, '[1,2]', [1, 2]],
    [{ type: 'string' }, ' "Oslo"\n', 'Oslo'],
    [{ enum: [null] }, 'null', null],
  ]) {
    const result = await runTurn({ model: says(text), messages, answerSchema }).result
    assert.deepEqual([result.status, result.object], ['complete', value], text)
    assert.ok('object' in result)
  }
})

test('the model hears why its answer was refused, once', async () => {
  const answerSchema = z.object({ city: z.string().min(2, 'too short') })
  const model = says('{"city":"x"}', '{"city":"y"}')
  const { status, error, text, fullContent, object } = await runTurn({
    model,
    messages,
    answerSchema,
  }).result
  assert.deepEqual([status, error.code, text, fullContent], ['failed', 'answer.invalid', '', ''])
  assert.equal(object, undefined)
  assert.equal(model.requests.length, 2)
  const [first, second] = model.requests.map((request) => JSON.stringify(request))
  assert.ok(!first.includes('was refused'))
  assert.match(second, /Your last answer was refused: .*too short/)
})

test('a validator that throws refuses; one that hangs ends with the turn', async () => {
  const jsonSchema = { input: () => ({}) }
  const schema = (validate) => ({
    '~standard': { version: 1, vendor: 'own', jsonSchema, validate },
  })
  const throws = schema(() => {
    throw new Error('out of order')
  })
  const failed = await runTurn({ model: says('1', '1'), messages, answerSchema: throws }).result
  assert.deepEqual([failed.status, failed.error.code], ['failed', 'answer.invalid'])
  assert.match(failed.error.message, /out of order/)
  let asked
  const validating = new Promise((resolve) => (asked = resolve))
  const hangs = schema(() => (asked(), new Promise(() => {})))
  const turn = runTurn({ model: says('1'), messages, answerSchema: hangs })
  await validating
  turn.cancel('enough')
  assert.equal((await turn.result).status, 'cancelled')
})

test('an answer that is no answer in the end was read to its end, once', async () => {
  const usage = { inputTokens: 10, outputTokens: 5 }
  const finish = { type: 'finish', reason: 'stop', raw: 'stop' }
  for (const text of ['Oslo.', '[]']) {
    for (const mode of ['two_stage', 'unified']) {
      const said = [{ type: 'text', text }, { type: 'usage', usage }, finish]
      const traced = []
      const { status, error, ...result } = await runTurn({
        model: scriptedModel([said, said]),
        messages,
        mode,
        answerSchema: { type: 'object' },
        onTrace: (event) => event.type === 'llm_call' && traced.push(event),
      }).result
      assert.deepEqual([status, error.code], ['failed', 'answer.invalid'])
      assert.equal(result.usage.incomplete, undefined, `${mode} ${text}`)
      assert.deepEqual(
        traced.map(({ inference, status }) => [inference, status]),
        traced.map((_, at) => [at + 1, 'complete']),
      )
      assert.equal(traced.length, result.inferences)
    }
  }
})

test('misuse is told at the call', async () => {
  const model = says('1')
  for (const [own, code] of [
    [{ answerSchema: 7 }, 'tool.invalid_schema'],
    [{ answerSchema: { type: 'strng' } }, 'tool.invalid_schema'],
    [{ answerSchema: v.object({}) }, 'tool.invalid_schema'],
    [
      { answerSchema: { '~standard': { version: 1, vendor: 'own', validate: () => ({}) } } },
      'tool.invalid_schema',
    ],
    [{ system: 7 }, 'options.invalid'],
  ]) {
    assert.throws(() => runTurn({ model, messages, ...own }), { code }, JSON.stringify(own))
  }
})

test('a turn that is resumed without its schema has no valid answer', async () => {
  const store = memoryStore()
  const answerSchema = { type: 'object' }
  const turn = runTurn({
    messages,
    store,
    answerSchema,
    requestId: 'r',
    model: customModel(async function* () {
      throw new Error('gone')
    }),
  })
  assert.equal((await turn.result).error.code, 'model.failed')
  const without = await resumeTurn({ requestId: 'r', store, model: says('{}', '{}') }).result
  assert.deepEqual([without.status, without.error.code], ['failed', 'answer.invalid'])
  assert.match(without.error.message, /resumed without `answerSchema`/)
})

test('a host keeps its own member for structured output', async () => {
  let sent
  const { openaiChat } = await import('turnlock')
  const model = openaiChat({
    baseURL: 'http://provider.test/v1',
    model: 'm',
    maxRetries: 0,
    body: { response_format: { type: 'json_object' } },
    async fetch(_, { body }) {
      sent = JSON.parse(body)
      const data = { choices: [{ delta: { content: '{}' }, finish_reason: 'stop' }] }
      const headers = { 'content-type': 'text/event-stream' }
      return new Response(`data: ${JSON.stringify(data)}\n\ndata: [DONE]\n\n`, { headers })
    },
  })
  const { status } = await runTurn({ model, messages, answerSchema: { type: 'object' } }).result
  assert.deepEqual([status, sent.response_format], ['complete', { type: 'json_object' }])
})

test('a text stream ends with its turn, whatever becomes of it, and leaving it cancels', async () => {
  const model = customModel(async function* () {
    yield { type: 'text', text: 'half ' }
    throw new Error('broke')
  })
  const chunks = []
  const turn = runTurn({ model, messages })
  for await (const chunk of turn.textStream) chunks.push(chunk)
  assert.deepEqual([chunks, (await turn.result).status], [['half '], 'failed'])
  const endless = customModel(async function* (_, { signal }) {
    yield { type: 'text', text: 'word ' }
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  })
  const left = runTurn({ model: endless, messages })
  for await (const chunk of left.textStream) {
    assert.equal(chunk, 'word ')
    break
  }
  assert.equal((await left.result).status, 'cancelled')
})

test('repairs of a history are at its own places, with a system prompt before it', async () => {
  const orphan = { role: 'tool', toolCallId: 'x', content: 'lost' }
  const history = [messages[0], orphan, messages[0]]
  const of = async (own) => (await runTurn({ model: says('ok'), messages: history, ...own }).result).repairs // prettier-ignore
  const [plain, prompted] = [await of({}), await of({ system: 'Be brief.' })]
  assert.deepEqual(prompted, plain)
  assert.ok(plain.length > 0)
})
