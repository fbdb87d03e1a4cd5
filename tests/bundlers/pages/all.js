// Everything that the package has, and what each page does with it, at once.
import * as turnlock from 'turnlock'
import * as bundle from './bundle.js'
import * as chain from './chain.js'
import * as history from './history.js'
import * as kept from './kept.js'
import * as repaired from './repaired.js'
import * as request from './request.js'
import * as signature from './signature.js'
import * as stream from './stream.js'
import * as turn from './turn.js'

const pages = { bundle, chain, history, kept, repaired, request, signature, stream, turn }

export const { init } = turnlock
export const run = async () => {
  const outcome = async ([name, page]) => [name, await page.run()]
  return Object.fromEntries(await Promise.all(Object.entries(pages).map(outcome)))
}
