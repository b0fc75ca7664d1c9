import { MinimalSender } from '../raw/minimal-sender.ts'

/** So long the daemon's changes are apart, more or less. */
const REST_MS = 50
/** Numbers that no Service of the benchmark has: to the daemon they are foreign. */
const FIRST = 60_000

/** Round trips of the minimal sender, in the kernel in which the daemon works. */
export interface RawChanges {
  times(what: 'replace' | 'add', count: number): Promise<readonly number[]>
  bursts(count: number): Promise<readonly number[]>
  close(): Promise<void>
}

/** Makes `size` virtual servers beside the daemon's, which leaves them alone. */
export async function openRawChanges(namespace: string, size: number): Promise<RawChanges> {
  const sender = new MinimalSender(namespace, FIRST)
  const order = async (what: 'fill' | 'replace' | 'add' | 'burst', count: number) =>
    (await sender.follow({ what, count, size, restMs: REST_MS })).ms
  try {
    await order('fill', 1)
    return {
      times: order,
      bursts: (count) => order('burst', count),
      close: () => sender.close(),
    }
  } catch (error) {
    await sender.close()
    throw error
  }
}
