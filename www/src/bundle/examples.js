// Replicates to look at. What a person may paste has the same form.
const triage = {
  type: 'object',
  properties: {
    label: { enum: ['approve', 'reject', 'escalate'], 'x-weight': 2 },
    risk: { type: 'number', minimum: 0, maximum: 1 },
    reasons: { type: 'array', items: { type: 'string' }, uniqueItems: true },
    note: { type: 'string', 'x-weight': 0.25 },
  },
  required: ['label', 'risk'],
}

/** Name → schema and what each replicate says. */
export const EXAMPLES = {
  'Two agree: the third never runs': {
    schema: triage,
    replicates: [
      { label: 'approve', risk: 0.2, reasons: ['known'], note: 'A regular customer.' },
      { label: 'approve', risk: 0.25, reasons: ['known'], note: 'a regular customer' },
      { label: 'reject', risk: 0.9, reasons: ['amount'], note: 'Never asked.' },
    ],
  },
  'They differ: the third decides': {
    schema: triage,
    replicates: [
      { label: 'approve', risk: 0.2, reasons: ['known'], note: 'A regular customer.' },
      { label: 'escalate', risk: 0.6, reasons: ['amount', 'new device'], note: 'Unusual sum.' },
      { label: 'escalate', risk: 0.55, reasons: ['amount'], note: 'The sum is unusual.' },
    ],
  },
  'One does not fit the schema': {
    schema: triage,
    replicates: [
      { label: 'maybe', risk: 2 },
      { label: 'reject', risk: 0.8, reasons: ['amount'], note: 'Too much.' },
      { label: 'reject', risk: 0.85, reasons: ['amount'], note: 'Too much at once.' },
    ],
  },
  'Long texts, within 8000 bytes': {
    bytes: 8000,
    replicates: ['first', 'second', 'third'].map((which) => ({
      label: 'escalate',
      report: `The ${which} reader says: ${'the sum is unusual for this customer. '.repeat(300)}`,
    })),
  },
  'No schema: compared by type': {
    replicates: [
      { city: 'Paris', people: 2_100_000, rivers: ['Seine'] },
      { city: 'paris.', people: 2_150_000, rivers: ['Seine'] },
      { city: 'Lyon', people: 520_000, rivers: ['Rhône', 'Saône'] },
    ],
  },
}
