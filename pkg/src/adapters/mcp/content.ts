/** Results of MCP tools as results of ours. */
import { isObject } from '../../checks.js'
import { base64Bytes, type ToolContentPart } from '../../tools/content.js'
import type { McpResult } from './client.js'

type Block = Record<string, unknown>

/**
 * The value of a result: its structured content, or its only text, or the list of its blocks. With
 * structured content beside something that is no text, `{ structured, content }`. With images, sounds
 * or files it is content for the model, unless `data` is false.
 */
export function valueOf({ content = [], structuredContent }: McpResult, data: boolean): unknown {
  const blocks = content.filter(isObject)
  const isText = (block: Block) => block['type'] === 'text'
  const others = blocks.filter((block) => !isText(block))
  const shown = structuredContent === undefined ? blocks : others
  const parts = shown.map((block) => (data ? mediaOf(block) : undefined) ?? textOf(block))
  if (parts.some(({ type }) => type !== 'text')) {
    if (structuredContent === undefined) return { content: parts }
    return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }, ...parts] }
  }
  if (structuredContent !== undefined) {
    if (others.length === 0) return structuredContent
    return { structured: structuredContent, content: others.map(visibleBlock) }
  }
  if (blocks.length === 1 && others.length === 0) return blocks[0]?.['text']
  return blocks.map(visibleBlock)
}

/** The text of a result that is a failure. */
export function messageOf({ content = [] }: McpResult): string {
  const texts = content.map((block) => (isObject(block) ? block['text'] : undefined))
  return texts.filter((text) => typeof text === 'string').join('\n') || 'the tool failed'
}

/** The image, sound or file of a block, if the model may see it. */
function mediaOf(block: Block): ToolContentPart | undefined {
  const { type, annotations } = block
  const audience = isObject(annotations) ? annotations['audience'] : undefined
  // <https://modelcontextprotocol.io/specification/2025-11-25/server/resources#annotations>
  if (Array.isArray(audience) && !audience.includes('assistant')) return undefined
  const inner = type === 'resource' ? block['resource'] : block
  if (!isObject(inner) || !['resource', 'image', 'audio'].includes(type as string)) return undefined
  const { mimeType, uri } = inner
  const data = type === 'resource' ? inner['blob'] : inner['data']
  if (typeof data !== 'string' || !isBase64(data)) return undefined
  if (typeof mimeType !== 'string' || !/^[^/\s]+\/[^/\s]+$/.test(mimeType)) return undefined
  const name = typeof uri === 'string' ? uri.split(/[?#]/)[0]?.split('/').at(-1) : undefined
  return {
    type: mimeType.startsWith('image/') ? 'image' : 'file',
    mediaType: mimeType,
    data,
    ...(name && { name }),
  }
}

/** Whether the core reads a text as base64: one of any other kind would make the whole result JSON. */
const isBase64 = (text: string): boolean =>
  text.length > 0 && text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)

/** A block as text: its own, that of a resource, or its JSON. */
function textOf(block: Block): ToolContentPart {
  const { type, resource } = block
  const text = type === 'text' ? block['text'] : isObject(resource) ? resource['text'] : undefined
  return {
    type: 'text',
    text: typeof text === 'string' ? text : JSON.stringify(visibleBlock(block)),
  }
}

/** A block, with the size of its binary data instead of the data. */
function visibleBlock(block: Block): Block {
  const { _meta: _, annotations: __, ...rest } = block
  const inner = rest['resource']
  if (isObject(inner)) return { ...rest, resource: visibleBlock(inner) }
  for (const name of ['data', 'blob']) {
    const bytes = base64Bytes(rest[name])
    if (bytes === undefined) continue
    const { [name]: ___, ...without } = rest
    return { ...without, bytes }
  }
  return rest
}
