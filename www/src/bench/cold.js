// A cold start: a worker of its own each time, from the import to the first text of a response that is
// at hand.
const SUBJECTS = {
  floor: () => import('./cold/floor.js'),
  turnlock: () => import('./cold/turnlock.js'),
  ai: () => import('./cold/ai.js'),
}

addEventListener('message', async ({ data: name }) => {
  try {
    const began = performance.now()
    const { first } = await SUBJECTS[name]()
    if ((await first()) !== 'hello') throw new Error(`${name} gave no text`)
    postMessage({ ms: performance.now() - began })
  } catch (error) {
    postMessage({ error: `${error.name}: ${error.message}` })
  }
})
