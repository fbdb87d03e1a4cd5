// JSON for readers.

/** Attachments and the like: a text field holds them, a reader does not want them. */
const LONGEST = 2_000

const cut = (_, value) =>
  typeof value === 'string' && value.length > LONGEST
    ? `${value.slice(0, LONGEST)}… (${value.length} characters)`
    : value

/** Indented JSON; very long strings are cut and say so. */
export const pretty = (value) => JSON.stringify(value, cut, 2)
