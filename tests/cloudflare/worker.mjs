import unsafe from 'workerd:unsafe'
import { DurableObject } from 'cloudflare:workers'
import { withTurnlock } from 'turnlock/cloudflare'
import { optionsOf, perform, tenantOf } from './chat.mjs'

/** A class with an alarm of its own. */
class Own extends DurableObject {
  made = crypto.randomUUID()

  async alarm() {
    const rung = (await this.ctx.storage.get('rung')) ?? 0
    await this.ctx.storage.put('rung', rung + 1)
  }
}

export class Chat extends withTurnlock(Own, { alarmMs: 300, approvalMs: 86_400_000 }) {
  turnOptions() {
    return optionsOf(this.env.GATE)
  }

  turnTenant(request) {
    return tenantOf(request)
  }

  async fetch(request) {
    if (request.headers.get('upgrade')) return this.turnlock.connect(request)
    const [what, ...args] = await request.json()
    if (what === 'made') return Response.json({ value: this.made })
    if (what === 'end') this.ctx.abort('evicted')
    if (what === 'storage') {
      const [method, ...rest] = args
      return Response.json({ value: await this.ctx.storage[method](...rest) })
    }
    try {
      return Response.json({ value: (await perform(this, [what, ...args])) ?? null })
    } catch (error) {
      return Response.json({ error: { code: error.code, message: String(error.stack) } })
    }
  }
}

/** One that does not wait for approvals. */
export class Hasty extends withTurnlock(Own, { alarmMs: 50, approvalMs: 1 }) {
  turnOptions() {
    return optionsOf(this.env.GATE)
  }

  async fetch(request) {
    return Response.json({ value: (await perform(this, await request.json())) ?? null })
  }
}

/** One whose options cannot be had: it ends the object when a turn goes on. */
export class Broken extends withTurnlock(Own, { alarmMs: 50 }) {
  turnOptions() {
    return optionsOf({
      fetch: async (url) => {
        await this.env.GATE.fetch(url)
        if (url.endsWith('answer')) this.ctx.abort('broken')
        return new Response('paid')
      },
    })
  }

  async fetch(request) {
    return Response.json({ value: (await perform(this, await request.json())) ?? null })
  }
}

/** One whose alarm would be called for ours, too. */
export class Wrong extends withTurnlock(Own) {
  alarm() {}
}

export default {
  async fetch(request, env) {
    const [kind, name, what] = new URL(request.url).pathname.slice(1).split('/')
    const stub = env[kind].get(env[kind].idFromName(name))
    if (kind === 'Wrong') {
      const error = await stub.fetch(request).catch((thrown) => thrown)
      return Response.json({ value: error.message })
    }
    if (what !== 'hibernate') return stub.fetch(request)
    await unsafe.evict(stub, { webSockets: 'hibernate' })
    return Response.json({ value: null })
  },
}
