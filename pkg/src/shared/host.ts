/** A name or an address, with or without a port. */
export const HOST = /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i
