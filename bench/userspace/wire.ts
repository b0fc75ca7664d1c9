/**
 * What the client of the benchmark sends to its backend: requests of 100 bytes, which are echoed, or one byte that
 * requests an endless stream.
 */
export const REQUEST_BYTES = 100
export const PLAIN = 'e'.charCodeAt(0)
export const STREAM = 's'.charCodeAt(0)
