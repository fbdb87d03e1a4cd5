// node start.mjs COMMAND…: runs the command with BASE_URL, the address of a model. Where none is
// set, it is that of a scripted model on this machine, which ends with the command.
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const [command, ...args] = process.argv.slice(2)
const env = { ...process.env }
let model
if (!env.BASE_URL) {
  const turnlock = dirname(fileURLToPath(import.meta.resolve('turnlock/package.json')))
  const serve = [join(turnlock, 'dist/cli.js'), 'serve', '--port', '0', '--json']
  model = spawn(process.execPath, serve, { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: model.stdout })) {
    env.BASE_URL = JSON.parse(line).address
    break
  }
  if (!env.BASE_URL) throw new Error('the scripted model did not start')
  console.log(`scripted model at ${env.BASE_URL}; set BASE_URL and OPENAI_API_KEY for another`)
}

const shell = process.platform === 'win32'
const app = spawn(command, args, { env, stdio: 'inherit', shell })
const end = (code) => {
  model?.kill()
  process.exit(code ?? 1)
}
app.once('exit', end)
app.once('error', (error) => {
  console.error(error.message)
  end(1)
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => app.kill(signal))
