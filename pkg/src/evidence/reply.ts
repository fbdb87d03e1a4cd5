/** The JSON values in a model's reply. */
import type { ReplyGlue } from '../core/glue.js'
import { answer, encode, type Part } from '../core/instance.js'
import type { ReplyRepair } from '../generated/common.js'

/** A JSON value in a reply, and what was dropped around it. */
export interface ReplyValue {
  text: string
  repairs: ReplyRepair[]
}

/** The different JSON values in a reply; `text` is the reply after its thinking. */
export interface Reply {
  text: string
  values: ReplyValue[]
  fault: { code: string; message: string; missing: boolean } | null
}

/** Reads a reply by a part of the core. */
export const readReply = (part: Part<ReplyGlue>, reply: string): Reply =>
  JSON.parse(answer(part.call((glue) => glue.reply_read(encode(reply))))) as Reply

/** Whether no words stand around a value. */
export const isBare = ({ repairs }: Pick<ReplyValue, 'repairs'>): boolean =>
  !repairs.includes('words_dropped')
