// Reads a regular expression of gitleaks (RE2) into alternatives: what can be matched without going
// back, and of what samples can be made.

const ASCII = [...Array(128).keys()].map((code) => String.fromCharCode(code))
const word = /\w/
const named = {
  d: (one) => /\d/.test(one),
  w: (one) => word.test(one),
  s: (one) => /\s/.test(one),
  S: (one) => !/\s/.test(one),
}

/**
 * Reads an expression into alternatives. Each is a list of sets of ASCII characters, from `min` to
 * `max` of them, and of marks: `b` (the border of a word), `(` and `)` (a group that captures).
 *
 * @returns {({ set: string, min: number, max: number } | { mark: string })[][]}
 */
export function parse(text) {
  let at = 0
  const fail = (why) => {
    throw new Error(`${why} at ${at} of ${text}`)
  }
  const setOf = (test, fold) =>
    ASCII.filter(
      (one) => test(one) || (fold && (test(one.toLowerCase()) || test(one.toUpperCase()))),
    ).join('')
  const escape = () => {
    const character = text[at++]
    if (character === 'x') {
      at += 2
      return String.fromCharCode(parseInt(text.slice(at - 2, at), 16))
    }
    return { n: '\n', r: '\r', t: '\t' }[character] ?? character
  }
  const bracket = (fold) => {
    const not = text[at] === '^'
    if (not) at++
    const tests = []
    while (text[at] !== ']') {
      if (text.startsWith('[:alnum:]', at)) {
        at += 9
        tests.push((one) => /[a-z0-9]/i.test(one))
        continue
      }
      let from
      if (text[at] === '\\') {
        at++
        if (named[text[at]]) {
          tests.push(named[text[at++]])
          continue
        }
        from = escape()
      } else from = text[at++]
      let to = from
      if (text[at] === '-' && text[at + 1] !== ']') {
        at++
        to = text[at] === '\\' ? (at++, escape()) : text[at++]
      }
      tests.push((one) => one >= from && one <= to)
    }
    at++
    return setOf((one) => tests.some((test) => test(one)) !== not, fold && !not)
  }
  const join2 = (lists, more) => lists.flatMap((a) => more.map((b) => [...a, ...b]))
  function alternatives(fold) {
    const all = []
    let now = [[]]
    while (at < text.length && text[at] !== ')') {
      if (text[at] === '|') {
        at++
        all.push(...now)
        now = [[]]
        continue
      }
      let item
      if (text.startsWith('\\b', at)) {
        at += 2
        now = join2(now, [[{ mark: 'b' }]])
        continue
      }
      if (text[at] === '(') {
        at++
        let inner = fold
        let captures = true
        const flags = /^\?(i|-i)?(:|\))/.exec(text.slice(at))
        if (flags) {
          at += flags[0].length
          captures = false
          if (flags[1]) inner = flags[1] === 'i'
          if (flags[2] === ')') {
            fold = inner
            continue
          }
        } else if (text[at] === '?') fail('group')
        const groupItems = alternatives(inner)
        at++
        item = captures
          ? groupItems.map((one) => [{ mark: '(' }, ...one, { mark: ')' }])
          : groupItems
      } else if (text[at] === '[') {
        at++
        item = [[{ set: bracket(fold), min: 1, max: 1 }]]
      } else {
        let character = text[at++]
        if ('*+?{^$.'.includes(character) && character !== '.') fail('unexpected')
        let test = (other) => other === character
        if (character === '.') test = (other) => other !== '\n'
        if (character === '\\')
          test = named[text[at]] ? named[text[at++]] : ((character = escape()), test)
        item = [[{ set: setOf(test, fold), min: 1, max: 1 }]]
      }
      const count = /^(\{(\d+)(,(\d*))?\}|[*+?])/.exec(text.slice(at))
      if (count) {
        at += count[0].length
        const by = { '*': [0, Infinity], '+': [1, Infinity], '?': [0, 1] }[count[0]]
        const min = by ? by[0] : Number(count[2])
        const max = by
          ? by[1]
          : count[3] === undefined
            ? min
            : count[4]
              ? Number(count[4])
              : Infinity
        const single = item.length === 1 && item[0].length === 1
        if (single) item = [[{ ...item[0][0], min, max }]]
        else if (max === 1) item = [...item, [[]].flat()]
        else if (min === max) {
          const once = item
          for (let n = 1; n < min; n++) item = join2(item, once)
        } else fail('repeated group')
      }
      now = join2(now, item)
    }
    return [...all, ...now]
  }
  const read = alternatives(false)
  if (at < text.length) fail('left over')
  return read
}
