// Only compiled: what callers write, under strict rules.
import { openaiChat } from 'turnlock'
import { withTurnlock } from 'turnlock/cloudflare'

/** As in `@cloudflare/workers-types`. */
declare abstract class DurableObject<Env = unknown> {
  protected ctx: { id: unknown }
  protected env: Env
  constructor(ctx: { id: unknown }, env: Env)
  alarm?(info?: unknown): void | Promise<void>
}
interface Env {
  KEY: string
}

export class Chat extends withTurnlock(DurableObject<Env>, { approvalMs: 60_000 }) {
  override turnOptions() {
    const baseURL = 'https://api.openai.com/v1'
    return { model: openaiChat({ baseURL, apiKey: this.env.KEY, model: 'm' }) }
  }
  override turnTenant(request: Request) {
    return request.headers.get('x-user')
  }
  async ask(messages: unknown[]) {
    const turn = await this.turnlock.run({ messages, tenant: 'ann' })
    for await (const event of turn) if (event.type === 'paused') return event.approvals?.length
    return (await turn.result).text
  }
}

declare const chat: Chat
void chat.turnlock.list().then(([one]) => one?.requestId)
// @ts-expect-error the model is that of turnOptions
void chat.turnlock.run({ messages: [], model: 1 })
