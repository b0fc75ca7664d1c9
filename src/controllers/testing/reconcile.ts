import type { Controller } from '../runner/controller.ts'
import { reportsOn } from '../runner/write.ts'
import type { FakeCluster } from './fake-cluster.ts'

/** Reconciles one key and makes the writes; returns them as `verb collection/key`. */
export async function reconcile(
  cluster: FakeCluster,
  options: { controller: Controller; key?: string; now?: number; since?: number },
): Promise<readonly string[]> {
  const { controller, key = 'shop/web', now = 0, since = 0 } = options
  const from = cluster.log.length
  for (const write of controller.reconcile(key, cluster.view, now, since).writes) {
    const result = await cluster.writer.write(write)
    for (const report of reportsOn(write, result)) await cluster.writer.write(report)
    if (!result.ok) throw new Error(result.failure.message)
  }
  return cluster.log.slice(from)
}
