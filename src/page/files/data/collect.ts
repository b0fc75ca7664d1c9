/** All items of a stream that has several at a time. */
export async function collect<T>(batches: AsyncIterable<readonly T[]>): Promise<readonly T[]> {
  const found: T[] = []
  for await (const batch of batches) found.push(...batch)
  return found
}
