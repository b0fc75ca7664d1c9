import { MinimalSender } from '../raw/minimal-sender.ts'

/** Milliseconds between two changes, about as many as between those of the daemon. */
const REST_MS = 50
/** The first number that no Service of the benchmark has, so that these servers are foreign to the daemon. */
const FIRST = 60_000

/** Round trips of the minimal sender in the daemon's kernel. */
export interface RawChanges {
  times(what: 'replace' | 'add', count: number): Promise<readonly number[]>
  bursts(count: number): Promise<readonly number[]>
  close(): Promise<void>
}

/** Makes `size` virtual servers beside the daemon's, which the daemon does not touch. */
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
