// Commits with defaults, in any runtime.
export const HOUR = 3_600_000
export const commitOf = (owner, revision, more = {}) => ({
  owner,
  revision,
  takeOver: false,
  replaces: null,
  open: true,
  state: revision === 1 ? 'state' : null,
  records: [],
  events: null,
  forget: 0,
  reusable: [],
  ttlMs: HOUR,
  ...more,
})
