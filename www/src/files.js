// The tools of the scripted provider, and tools as test cases declare them.
import { sampleTools } from 'turnlock/testing'

export const fileNames = sampleTools().list_files.execute()

/** What a test case says of tools. */
export const declared = (tools) =>
  Object.entries(tools).map(([name, { description, inputSchema, readOnly, needsApproval }]) => ({
    name,
    description,
    inputSchema,
    ...(readOnly && { readOnly }),
    ...(needsApproval && { needsApproval }),
  }))
