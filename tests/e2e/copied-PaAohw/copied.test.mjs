import assert from 'node:assert/strict'
import test from 'node:test'
import { defineTool, openaiChat, runTurn, signature } from 'turnlock'
import { tapeFetch } from 'turnlock/testing'

/** What the model answered, response by response. */
const RESPONSES = [
  { body: "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000001,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000001,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_list_files\",\"type\":\"function\",\"function\":{\"name\":\"list_files\",\"arguments\":\"\"}}]},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000001,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"path\\\":\\\".\\\",\\\"recursive\\\":true}\"}}]},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000001,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"tool_calls\"}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000001,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5,\"total_tokens\":15}}\n\ndata: [DONE]\n\n", headers: { 'content-type': "text/event-stream; charset=utf-8" } },
  { body: "data: {\"id\":\"chatcmpl-2\",\"object\":\"chat.completion.chunk\",\"created\":1700000002,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-2\",\"object\":\"chat.completion.chunk\",\"created\":1700000002,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_list_files\",\"type\":\"function\",\"function\":{\"name\":\"list_files\",\"arguments\":\"\"}}]},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-2\",\"object\":\"chat.completion.chunk\",\"created\":1700000002,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"path\\\":\\\".\\\",\\\"recursive\\\":true}\"}}]},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-2\",\"object\":\"chat.completion.chunk\",\"created\":1700000002,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"tool_calls\"}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-2\",\"object\":\"chat.completion.chunk\",\"created\":1700000002,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5,\"total_tokens\":15}}\n\ndata: [DONE]\n\n", headers: { 'content-type': "text/event-stream; charset=utf-8" } },
  { body: "data: {\"id\":\"chatcmpl-3\",\"object\":\"chat.completion.chunk\",\"created\":1700000003,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-3\",\"object\":\"chat.completion.chunk\",\"created\":1700000003,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"From \"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-3\",\"object\":\"chat.completion.chunk\",\"created\":1700000003,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"the \"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-3\",\"object\":\"chat.completion.chunk\",\"created\":1700000003,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"tool \"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-3\",\"object\":\"chat.completion.chunk\",\"created\":1700000003,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"results \"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-3\",\"object\":\"chat.completion.chunk\",\"created\":1700000003,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"I \"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-3\",\"object\":\"chat.completion.chunk\",\"created\":1700000003,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"can \"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-3\",\"object\":\"chat.completion.chunk\",\"created\":1700000003,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"say: \"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-3\",\"object\":\"chat.completion.chunk\",\"created\":1700000003,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"[\\\"notes.txt\\\",\\\"readme.md\\\",\\\"log/today.txt\\\"]. \"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-3\",\"object\":\"chat.completion.chunk\",\"created\":1700000003,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"That \"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-3\",\"object\":\"chat.completion.chunk\",\"created\":1700000003,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"answers \"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-3\",\"object\":\"chat.completion.chunk\",\"created\":1700000003,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"it.\"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-3\",\"object\":\"chat.completion.chunk\",\"created\":1700000003,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"stop\"}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-3\",\"object\":\"chat.completion.chunk\",\"created\":1700000003,\"model\":\"scripted\",\"system_fingerprint\":\"fp_scripted\",\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5,\"total_tokens\":15}}\n\ndata: [DONE]\n\n", headers: { 'content-type': "text/event-stream; charset=utf-8" } },
]

/** What the tools returned. */
const RESULTS = [
  {
    "tool": "list_files",
    "args": {
      "path": ".",
      "recursive": true
    },
    "result": [
      "notes.txt",
      "readme.md",
      "log/today.txt"
    ]
  }
]

const recorded = (tool) => (args) => {
  const asked = signature({ tool, args })
  const found = RESULTS.find((one) => one.tool === tool && signature({ tool, args: one.args }) === asked)
  if (!found) throw new Error(`${tool} was not called with ${JSON.stringify(args)}`)
  if (found.error !== undefined) throw new Error(found.error)
  return found.result
}
const tools = {
  "list_files": defineTool({
    ...{
      "description": "Lists the files below a folder.",
      "inputSchema": {
        "type": "object",
        "properties": {
          "path": {
            "type": "string"
          },
          "recursive": {
            "type": "boolean"
          }
        },
        "required": [
          "path"
        ]
      },
      "readOnly": true
    },
    execute: recorded("list_files"),
  }),
  "read_file": defineTool({
    ...{
      "description": "Reads one file.",
      "inputSchema": {
        "type": "object",
        "properties": {
          "path": {
            "type": "string"
          }
        },
        "required": [
          "path"
        ]
      },
      "readOnly": true
    },
    execute: recorded("read_file"),
  }),
}

test('the turn goes as it was recorded', async () => {
  const model = openaiChat({
    baseURL: 'https://recorded.example/v1',
    model: 'recorded',
    fetch: tapeFetch(RESPONSES),
  })
  const turn = runTurn({
    model,
    tools,
    mode: "two_stage",
    messages: [
      {
        "role": "user",
        "content": "What is in my files?"
      }
    ],
    policy: {
      "maxTools": 1
    },
  })
  const [results, said] = [[], []]
  let last
  for await (const event of turn) {
    for (const { name, status } of event.toolResults ?? []) results.push([name, status])
    if (event.type === 'text') said.push(event.chunk)
    last = event.type
  }
  assert.deepEqual(results, [["list_files","ok"]])
  assert.equal(said.join(''), "From the tool results I can say: [\"notes.txt\",\"readme.md\",\"log/today.txt\"]. That answers it.")
  assert.equal(last, "complete")
})
