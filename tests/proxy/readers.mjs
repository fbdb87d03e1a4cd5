// Clients of Chat Completions, each with its own way to put the pieces of tool calls together.

/** The pieces of calls in a stream, in their order; `null` where its choice ends. */
export function piecesOf(text) {
  return text
    .split('\n\n')
    .flatMap((frame) => /^data: (\{.*\})$/m.exec(frame)?.[1] ?? [])
    .flatMap((json) => JSON.parse(json).choices ?? [])
    .flatMap(({ delta, finish_reason: end }) => [
      ...(delta?.tool_calls ?? []),
      ...(end ? [null] : []),
    ])
    .map((piece) => piece && { ...piece, ...piece.function, function: undefined })
}

/** Reads pieces into calls `{ id, name, args }`. `find` gives the call of a piece, if there is one. */
function read(pieces, find, { replaces, restates, merges = false, finishes } = {}) {
  const calls = []
  for (const piece of pieces) {
    if (!piece) continue
    const { id = '', name = '', arguments: args = '' } = piece
    const isHead = id !== '' || name !== ''
    let call = find(calls, piece)
    const isOther = call && !merges && id !== '' && call.id !== '' && call.id !== id
    if (isHead ? !call || isOther : call === undefined) {
      call = { index: piece.index, id: '', name: '', args: '', isOver: false }
      calls.push(call)
    }
    if (!call || call.isOver) continue
    if (merges === 'last' || (replaces && isHead)) call.name = name || call.name
    call.name ||= name
    call.id ||= id
    const isWhole = (replaces && isHead && args) || (restates && args.startsWith(call.args))
    call.args = isWhole ? args : call.args + args
    call.isOver = finishes && isObject(call.args)
  }
  return calls
}

function isObject(text) {
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}

const at = (calls, index) => calls.findLast((call) => call.index === index)
/** `null` drops a piece. */
const lastOf = (calls) => calls.at(-1) ?? null

/** What each kind of client reads. */
export const CLIENTS = {
  'an unknown index means the last call': (pieces) =>
    read(pieces, (calls, piece) =>
      piece.id || piece.name
        ? piece.index == null
          ? calls.find(({ id }) => id !== '' && id === piece.id)
          : at(calls, piece.index)
        : ((piece.index == null ? undefined : at(calls, piece.index)) ?? lastOf(calls)),
    ),
  'an unknown index is a new call': (pieces) =>
    read(pieces, (calls, { index }) => at(calls, index)),
  'a missing index is 0': (pieces) =>
    read(
      pieces.map((piece) => piece && { ...piece, index: piece.index ?? 0 }),
      (calls, { index }) => at(calls, index),
    ),
  'a repeated head replaces': (pieces) =>
    read(pieces, (calls, { index }) => at(calls, index), { replaces: true }),
  'a piece may say all arguments so far': (pieces) =>
    read(pieces, (calls, { index }) => at(calls, index), { restates: true }),
  'an index is one call, with its first name': (pieces) =>
    read(pieces, (calls, { index }) => at(calls, index), { merges: 'first' }),
  'an index is one call, with its last name': (pieces) =>
    read(pieces, (calls, { index }) => at(calls, index), { merges: 'last' }),
  'a call is over once its arguments are whole': (pieces) =>
    read(pieces, (calls, { index }) => at(calls, index), { merges: 'first', finishes: true }),
}
