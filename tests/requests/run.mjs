// Plays the tables of the tool-request pass, and a pass with a real search, through the built
// package in the runtimes named on the command line: node, workerd, chromium.
import { readdirSync, readFileSync } from 'node:fs'
import { loadRequests } from '../provider/server.mjs'
import { playEverywhere } from '../runtimes.mjs'

const library = new URL('library/', import.meta.url)
const documents = readdirSync(library)
  .sort()
  .map((file) => {
    const text = readFileSync(new URL(file, library), 'utf8')
    return { id: file, title: /^# (.*)$/m.exec(text)[1], text }
  })

/** What is asked, and which document must come first. */
const QUESTIONS = [
  ['Why do spring tides rise higher than neap tides?', 'Tides'],
  ['How does a heat pump move warmth out of cold air?', 'Heat pumps'],
  ['Which gases does photosynthesis take in and give off?', 'Photosynthesis'],
  ['What lets a suspension bridge carry its deck?', 'Suspension bridges'],
]

const searches = QUESTIONS.map(([question, title]) => ({
  ...{ name: `search: ${question}`, search: { question, title, documents } },
}))
const jobs = [...loadRequests().values(), ...searches]
await playEverywhere('tests/requests', jobs, process.argv.slice(2))
