/** Thrown where a history cannot be told in a peer's shape: the peer is not to blame. */
export class Unfit extends Error {}
