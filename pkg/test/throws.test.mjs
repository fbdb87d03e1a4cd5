// What is thrown that is no Error reaches a reader as text with its substance (earendil-works/pi#9395
// and reports of "[object Object]" tool errors in vercel/ai and mastra, 2026).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { customModel, defineTool, runTurn } from 'turnlock'
import { runBundle } from 'turnlock/evidence'
import { runChain } from 'turnlock/chain'
import { runPlanning } from 'turnlock/planning'
import { mcpTools } from 'turnlock/mcp'
import { scriptedModel } from 'turnlock/testing'

class ApiError extends Error {
  name = 'ApiError'
  status = 422
  body = { detail: 'SKU unknown' }
}
class Bare {}
class Named {
  toString() {
    return 'named by itself'
  }
}
class Silent {
  constructor() {
    this.code = 'E9'
  }
  toString() {
    return '[object Object]'
  }
}
const STACK =
  'Error: quota\n    at pay (https://shop.example/pay.js:3:9)\n    at async main (/app/main.js:1:1)'
const FRAMES = 'pay@https://app.example/pay.js:3:9\n@https://app.example/main.js:1:1'
const cycle = { code: 'E7' }
cycle.self = cycle
const from = (text) => () => new Response('no', { status: 404, statusText: text })

/** What is thrown, and the text of it. */
const VALUES = {
  text: ['disk full', 'disk full'],
  number: [7, '7'],
  undefined: [undefined, 'undefined'],
  error: [new Error('no route'), 'no route'],
  'empty message': [new ApiError(''), 'ApiError {"status":422,"body":{"detail":"SKU unknown"}}'],
  'no message at all': [new TypeError(''), 'TypeError'],
  'object with message': [{ code: 'E42', message: 'quota' }, 'quota'],
  'object without message': [{ code: 'E42', detail: 'quota' }, '{"code":"E42","detail":"quota"}'],
  'message that is no text': [{ message: { en: 'quota' } }, '{"message":{"en":"quota"}}'],
  'nested error': [{ error: new Error('inner') }, '{"error":"inner"}'],
  list: [[{ code: 'E1' }], '[{"code":"E1"}]'],
  bigint: [{ size: 10n }, '{"size":"10"}'],
  cycle: [cycle, '{"code":"E7"}'],
  empty: [{}, 'Object without a message'],
  class: [new Bare(), 'Bare without a message'],
  toString: [new Named(), 'named by itself'],
  'toString that says nothing': [new Silent(), '{"code":"E9"}'],
  'toString of the object itself': [
    { code: 'E9', toString: () => '[object Object]' },
    '{"code":"E9"}',
  ],
  'toString that returns no text': [{ code: 'E9', toString: () => ({}) }, '{"code":"E9"}'],
  'toString that throws': [
    {
      code: 'E9',
      toString() {
        throw new Error('no')
      },
    },
    '{"code":"E9"}',
  ],
  'empty toString': [{ toString: () => ' ' }, 'Object without a message'],
  'an error whose toString says nothing': [
    Object.assign(new Error(''), { code: 'E9', toString: () => '[object Error]' }),
    '{"code":"E9"}',
  ],
  'message that is no text, and a stack': [
    { message: { en: 'quota' }, stack: STACK },
    '{"message":{"en":"quota"}}',
  ],
  'a stack within': [
    { code: 'E9', cause: { message: 'x', stack: STACK } },
    '"cause":{"message":"x"}}',
  ],
  'a text that is a stack': [STACK, 'Error: quota'],
  'a message with a stack': [new Error(STACK), 'Error: quota'],
  'toString that returns the stack': [{ toString: () => STACK }, 'Error: quota'],
  'frames of Firefox': [`quota\n${FRAMES}`, 'quota'],
  'words that are no frame': ['meet\nme@example.com\nat 5:30', 'meet\nme@example.com\nat 5:30'],
  response: [from('Not Found')(), 'Response 404 Not Found'],
  'response without words': [from('')(), 'Response 404'],
  event: [new Event('error'), 'Event without a message'],
  function: [function later() {}, 'the function later'],
}

/** Where it may be thrown: what a reader is told. */
const PLACES = {
  tool: async (raise) => {
    const tools = {
      t: defineTool({ description: 't', inputSchema: { type: 'object' }, execute: raise }),
    }
    const model = scriptedModel([{ call: 't' }, 'x'])
    const { toolResults } = await runTurn({ model, tools, messages: [user] }).result
    return toolResults[0].error.message
  },
  model: async (raise) => {
    const { error } = await runTurn({ model: throwing(raise), messages: [user] }).result
    return error.message
  },
  replicate: async (raise) => {
    const { replicates } = await runBundle({ task: 't', k: 1, replicate: raise }).result
    return replicates[0].quality.errors.join()
  },
  'callback of a chain': async (raise) => {
    const host = {
      classify: () => 'simple',
      answer: raise,
      plan: raise,
      search: raise,
      synthesize: raise,
    }
    const { error } = await runChain({ query: 'hi', ...host }).result
    return error.message
  },
  'tool of a planning pass': async (raise) => {
    const tools = {
      t: defineTool({
        description: 't',
        inputSchema: { type: 'object' },
        readOnly: true,
        execute: raise,
      }),
    }
    const asked = JSON.stringify({ tool_calls: [{ tool_name: 't', params: {}, reason: 'why' }] })
    const model = scriptedModel([asked, '{"plan":1}'])
    const { toolResults } = await runPlanning({
      model,
      tools,
      input: {},
      policy: { allow: ['t'] },
    })
    return toolResults[0].error.message
  },
  'tool of an MCP server': async (raise) => {
    const listed = { tools: [{ name: 't', inputSchema: { type: 'object' } }] }
    const client = { listTools: async () => listed, callTool: async () => raise() }
    const { tools } = await mcpTools(client, { allow: ['t'] })
    const model = scriptedModel([{ call: 't' }, 'x'])
    const { toolResults } = await runTurn({ model, tools, messages: [user] }).result
    return toolResults[0].error.message
  },
}
const user = { role: 'user', content: 'go' }
const throwing = (raise) =>
  // eslint-disable-next-line require-yield
  customModel(async function* () {
    raise()
  })

for (const [place, told] of Object.entries(PLACES)) {
  test(`a value that a ${place} throws: its message, otherwise its JSON`, async () => {
    for (const [name, [value, text]] of Object.entries(VALUES)) {
      const raise = () => {
        throw value
      }
      const found = await told(raise)
      assert.ok(found.endsWith(text), `${name}: ${found}`)
      assert.ok(!found.includes('[object'), found)
      assert.ok(!/pay\.js|main\.js/.test(found), found)
    }
  })
}
