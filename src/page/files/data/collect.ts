/** All items of a stream of batches. */
export async function collect<T>(batches: AsyncIterable<readonly T[]>): Promise<readonly T[]> {
  const found: T[] = []
  for await (const batch of batches) found.push(...batch)
  return found
}
