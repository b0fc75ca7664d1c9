/**
 * Copies bytes that will be kept into a buffer with its own memory. Node's small buffers are slices of a shared pool,
 * and keeping one retains all 64 KiB of the pool.
 */
export function ownBuffer(...parts: readonly Uint8Array[]): Buffer {
  const whole = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** The same bytes as a buffer, in the same memory. */
export function bufferOver(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
