import { sumOf } from '../daemon/metrics.ts'
import { memoryOf } from '../daemon/process-tree.ts'
import type { MemoryUse } from '../report/results.ts'
import type { ChangeContext } from './context.ts'

/** Memory of the daemon and of the largest program that it started, in KiB. */
export async function memoryUse(
  { daemon }: Pick<ChangeContext, 'daemon'>,
  children: { readonly kib: number },
  afterSync: number,
): Promise<MemoryUse> {
  const own = memoryOf(daemon.pid)
  if (own === undefined) throw new Error('the daemon ended')
  const heap = sumOf(await daemon.metrics(), 'nodejs_heap_size_used_bytes')
  return {
    afterSync,
    daemonPeak: own.peak,
    daemonResident: own.resident,
    daemonAnonymous: own.anonymous,
    heapUsed: Math.round(heap / 1024),
    largestChild: children.kib,
  }
}
