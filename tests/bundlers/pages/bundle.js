import { runBundle } from 'turnlock/evidence'

export const run = async () => {
  const replicate = async () => ({ data: { label: 'a' } })
  try {
    const { summary } = await runBundle({ task: 't', replicate }).result
    return `${summary.confidence} ${summary.consensus['/label']}`
  } catch (error) {
    return error.code
  }
}
