/**
 * Spans and metrics by the GenAI conventions of OpenTelemetry, through the host's
 * `@opentelemetry/api`.
 *
 * @module
 */
export type { Attributes, OtelApi, Span } from './api.js'
export { openTelemetry, type OtelOptions, type Telemetry } from './telemetry.js'
