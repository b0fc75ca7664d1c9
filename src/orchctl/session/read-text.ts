/** The body as text; undefined when it is longer than `limit` bytes. */
export async function readText(
  body: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<string | undefined> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of body) {
    size += part.length
    if (size > limit) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}
