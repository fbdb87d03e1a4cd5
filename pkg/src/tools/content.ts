/** The content of a tool's result: texts, images and files. */
import { isObject } from '../checks.js'
import { encodeBase64 } from '../core/base64.js'

/** A text for the model. */
export interface ToolText {
  type: 'text'
  text: string
}

/** An image or a file for the model: `data` or `url`. */
export interface ToolMedia {
  type: 'image' | 'file'
  /** Such as `image/png` or `application/pdf`. */
  mediaType: string
  /** Its bytes, or base64. */
  data?: string | Uint8Array | ArrayBuffer | undefined
  /** Where the provider loads it from: http or https. Not for tools that are `untrusted`. */
  url?: string | undefined
  name?: string | undefined
}

/** A part of a tool's result. */
export type ToolContentPart = ToolText | ToolMedia

/**
 * What `execute` returns to give the model images and files. A value counts as content only if each
 * part of it is valid and it has no other member; any other value is JSON.
 */
export interface ToolContent {
  content: readonly ToolContentPart[]
}

/** An image or a file in events, stores and `toolResults`: without its data. */
export interface ToolMediaReference {
  type: 'image' | 'file'
  mediaType: string
  /** The size of its data. */
  bytes?: number
  url?: string
  name?: string
  /**
   * Why the model does not get it: it is larger than `policy.maxMediaBytes` allows, or it is an address
   * that an untrusted tool returned.
   */
  omitted?: 'too_large' | 'untrusted_url'
}

/** {@link ToolContent} in events, stores and `toolResults`. */
export interface ToolContentReference {
  content: (ToolText | ToolMediaReference)[]
}

/**
 * The value as it is sent to the core, if it may be content: with base64 in place of bytes, without
 * data over the limit, and with no more of a text than counts. Whether it is content the core says.
 */
export function contentOf(
  value: unknown,
  textBytes: number,
  mediaBytes: number,
): object | undefined {
  if (!isObject(value) || Object.keys(value).length !== 1) return undefined
  const parts = value['content']
  if (!Array.isArray(parts) || !parts.every(isPart)) return undefined
  let left = mediaBytes
  const content = parts.map((part) => {
    const { type, text, data } = part
    if (type === 'text') {
      const isLong = typeof text === 'string' && text.length > textBytes
      return isLong ? { ...part, text: text.slice(0, textBytes + 1) } : part
    }
    const bytes = data instanceof ArrayBuffer ? new Uint8Array(data) : data
    const size = bytes instanceof Uint8Array ? bytes.length : base64Bytes(bytes)
    if (size === undefined) return part
    if (size > left) {
      const { data: _, ...rest } = part
      return { ...rest, bytes: size, omitted: 'too_large' }
    }
    left -= size
    return bytes instanceof Uint8Array ? { ...part, data: encodeBase64(bytes) } : part
  })
  return { content }
}

const isPart = (part: unknown): part is Record<string, unknown> =>
  isObject(part) && ['text', 'image', 'file'].includes(part['type'] as string)

/** The bytes of base64, or of a data URL. */
export function base64Bytes(data: unknown): number | undefined {
  if (typeof data !== 'string') return undefined
  const digits = data.length - (data.startsWith('data:') ? data.indexOf(',') + 1 : 0)
  return Math.floor((digits * 3) / 4) - (data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0)
}
