import { use } from './use.mjs'

const ends = await use().catch(String)
document.getElementById('ends').textContent = ends
