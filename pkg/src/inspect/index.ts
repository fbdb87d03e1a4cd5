/**
 * For tools around agents: recognizes the format of a recorded request, trace or log, finds repeated
 * calls, diagnoses and repairs the history, and replays it under another policy. The commands
 * `turnlock doctor` and `turnlock replay` and the page are made of it.
 *
 * @module
 */
export { detectProvider } from './detect-provider.js'
export { parseJson, recognizeFormat, type RecognizedText } from './format.js'
export {
  estimateSavings,
  findLoops,
  groupCalls,
  traceCalls,
  type BudgetSavings,
  type CallGroup,
  type CallTrace,
  type ChatMessage,
  type Traceable,
  type TracedCall,
  type TracedInference,
} from './loops.js'
export { replay, type Replay } from './replay.js'
export { inspectHistory, inspectText, type InspectOptions, type InspectReport } from './report.js'
