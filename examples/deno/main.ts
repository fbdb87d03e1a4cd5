// A question on the command line: `deno run … main.ts "What is in my folder?"`.
import { defineTool, openaiChat, runTurn } from 'turnlock'

const [question = 'What is in my folder?'] = Deno.args

const turn = runTurn({
  model: openaiChat({
    baseURL: Deno.env.get('BASE_URL') ?? 'https://api.openai.com/v1',
    apiKey: Deno.env.get('OPENAI_API_KEY'),
    model: Deno.env.get('MODEL') ?? 'gpt-5-mini',
  }),
  system: 'Answer in one sentence.',
  messages: [{ role: 'user', content: question }],
  tools: {
    list_files: defineTool({
      description: 'Lists the files of a folder.',
      inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
      readOnly: true,
      // What Deno does not permit is an error that the model reads, not the end of the turn.
      execute: async ({ path = '.' }: { path?: string }) =>
        (await Array.fromAsync(Deno.readDir(path))).map(({ name }) => name),
    }),
  },
})

const out = new TextEncoder()
for await (const event of turn) {
  if (event.type === 'tool_calls')
    console.log(
      'runs',
      event.toolCalls.map(({ name }) => name),
    )
  if (event.type === 'text') await Deno.stdout.write(out.encode(event.chunk))
}
const { status, error } = await turn.result
console.log()
if (status !== 'complete') {
  console.error(status, error?.code, error?.message)
  Deno.exitCode = 1
}
