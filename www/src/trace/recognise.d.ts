// For the command `turnlock replay`, which reads as the page does.
export function recognise(text: string): { what: string; history: unknown[] } | undefined
