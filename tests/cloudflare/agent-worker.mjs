import { Agent, getAgentByName } from 'agents'
import { withTurnlock } from 'turnlock/cloudflare'
import { optionsOf, perform, tenantOf } from './chat.mjs'

export class Chat extends withTurnlock(Agent, { alarmMs: 1000 }) {
  made = crypto.randomUUID()
  heard = []

  turnOptions() {
    return optionsOf(this.env.GATE)
  }

  turnTenant(request) {
    return tenantOf(request)
  }

  async onMessage(connection, message) {
    await super.onMessage(connection, message)
    this.heard.push(message)
  }

  async rung() {
    await this.ctx.storage.put('rung', true)
  }

  async onRequest(request) {
    const [what, ...args] = await request.json()
    if (what === 'made') return Response.json({ value: this.made })
    if (what === 'heard') return Response.json({ value: this.heard })
    if (what === 'end') this.ctx.abort('evicted')
    if (what === 'schedule') await this.schedule(1, 'rung', {})
    if (what === 'rung') return Response.json({ value: await this.ctx.storage.get('rung') })
    if (what === 'schedule') return Response.json({ value: null })
    try {
      return Response.json({ value: (await perform(this, [what, ...args])) ?? null })
    } catch (error) {
      return Response.json({ error: { code: error.code, message: String(error.stack) } })
    }
  }
}

export default {
  async fetch(request, env) {
    const [, name] = new URL(request.url).pathname.slice(1).split('/')
    const agent = await getAgentByName(env.Chat, name)
    return agent.fetch(request)
  },
}
