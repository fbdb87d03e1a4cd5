// What a planner asks of a real search, played beside the tables: a question, and the title of the
// document that must come first.
import { readdirSync, readFileSync } from 'node:fs'

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

export const searches = QUESTIONS.map(([question, title]) => ({
  name: `search: ${question}`,
  search: { question, title, documents },
}))
