// A worker whose turn has the tools of an MCP server.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { customModel, runTurn } from 'turnlock'
import { mcpTools } from 'turnlock/mcp'

export default {
  async fetch(request) {
    const { url, allow, call } = await request.json()
    const client = new Client(
      { name: 'worker', version: '1.0.0' },
      { versionNegotiation: { mode: 'auto' } },
    )
    await client.connect(new StreamableHTTPClientTransport(new URL(url)))
    const { tools } = await mcpTools(client, { allow })
    const model = customModel(async function* ({ messages }) {
      if (messages.length > 1) return yield { type: 'text', text: 'Done.' }
      yield { type: 'tool_call_start', index: 0, id: 'c1', name: call }
      yield { type: 'tool_call_arguments', index: 0, text: '{"path":"."}' }
      yield { type: 'tool_call_end', index: 0 }
    })
    const turn = runTurn({ model, tools, messages: [{ role: 'user', content: 'go' }] })
    const { status, toolResults, error } = await turn.result
    return Response.json({ era: client.getProtocolEra(), status, toolResults, error })
  },
}
