/** The concatenated pieces as UTF-8 text; a single piece is decoded without a copy. */
export function joinedText(parts: readonly Uint8Array[]): string {
  const [only] = parts
  if (only === undefined || parts.length > 1) return Buffer.concat(parts).toString('utf8')
  return Buffer.from(only.buffer, only.byteOffset, only.length).toString('utf8')
}
