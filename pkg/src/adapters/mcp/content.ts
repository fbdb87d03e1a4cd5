/** Results of MCP tools as results of ours. */
import { isObject } from '../../checks.js'
import type { McpResult } from './client.js'

/**
 * The value of a result: its structured content, or its only text, or the list of its blocks. With
 * structured content beside something that is no text, `{ structured, content }`.
 */
export function valueOf({ content = [], structuredContent }: McpResult, data: boolean): unknown {
  const blocks = content.filter(isObject)
  const isText = (block: Record<string, unknown>) => block['type'] === 'text'
  const others = blocks.filter((block) => !isText(block))
  if (structuredContent !== undefined) {
    if (others.length === 0) return structuredContent
    return {
      structured: structuredContent,
      content: others.map((block) => visibleBlock(block, data)),
    }
  }
  if (blocks.length === 1 && others.length === 0) return blocks[0]?.['text']
  return blocks.map((block) => visibleBlock(block, data))
}

/** The text of a result that is a failure. */
export function messageOf({ content = [] }: McpResult): string {
  const texts = content.map((block) => (isObject(block) ? block['text'] : undefined))
  return texts.filter((text) => typeof text === 'string').join('\n') || 'the tool failed'
}

/** A block, with the size of its binary data instead of the data unless `data` is set. */
function visibleBlock(block: Record<string, unknown>, data: boolean): Record<string, unknown> {
  const { _meta: _, annotations: __, ...rest } = block
  const inner = rest['resource']
  if (isObject(inner)) return { ...rest, resource: visibleBlock(inner, data) }
  if (data) return rest
  for (const name of ['data', 'blob']) {
    const text = rest[name]
    if (typeof text !== 'string') continue
    const { [name]: ___, ...without } = rest
    return { ...without, bytes: bytesOf(text) }
  }
  return rest
}

/** Bytes behind base64. */
const bytesOf = (base64: string): number =>
  Math.floor((base64.length * 3) / 4) - (base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0)
