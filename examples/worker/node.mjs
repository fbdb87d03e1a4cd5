import { createServer } from 'node:http'
import { toNodeListener } from 'turnlock/server'
import app from './app.mjs'

const server = createServer(toNodeListener((request) => app.fetch(request)))
server.listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`listening on http://localhost:${server.address().port}`)
})
