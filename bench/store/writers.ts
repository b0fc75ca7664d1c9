import type { Store } from '../../src/storage/store.ts'

export const VALUE = Buffer.alloc(1000, 'x')

/** Creates per second by several writers, each of which waits for its own acknowledgement. */
export async function createsPerSecond(
  store: Pick<Store, 'txn'>,
  writers: number,
  milliseconds: number,
  value: Buffer = VALUE,
): Promise<number> {
  const start = performance.now()
  let created = 0
  const write = async (): Promise<void> => {
    while (performance.now() - start < milliseconds) {
      const key = `/bench/${crypto.randomUUID()}`
      await store.txn({
        compare: [{ key, modRevision: 0 }],
        operations: [{ op: 'put', key, value }],
      })
      created++
    }
  }
  await Promise.all(Array.from({ length: writers }, write))
  return (created * 1000) / (performance.now() - start)
}
