/**
 * Tools of MCP servers, through a client of the official SDK that the host connects.
 *
 * @module
 */
export type { McpClient } from './client.js'
export {
  mcpTools,
  type McpAllowed,
  type McpDrift,
  type McpSkipped,
  type McpTools,
  type McpToolsOptions,
} from './tools.js'
