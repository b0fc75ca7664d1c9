/**
 * Bytes that are to be kept, as one buffer with memory of its own. Node's small
 * buffers are slices of a shared pool, and one that is kept keeps all 64 KiB of it.
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
