import vue from '@vitejs/plugin-vue'
import { toNodeListener } from 'turnlock/server'
import { handler } from './server.mjs'

const answer = toNodeListener(handler)
const turns = {
  name: 'turns',
  configureServer({ middlewares }) {
    middlewares.use((request, response, next) =>
      request.url.startsWith('/api/chat') ? answer(request, response) : next(),
    )
  },
}

export default { plugins: [vue(), turns] }
