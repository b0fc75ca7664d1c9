import type { Burst } from '../report/results.ts'
import { type ChangeContext, pick, target } from './context.ts'
import { timeChange } from './replace-endpoint.ts'

/**
 * The endpoints of many Services change at once: all writes are sent together,
 * and each moves all endpoints, so that one new connection distinguishes old from new.
 */
export async function bursts(
  context: ChangeContext,
  changes: number,
  count: number,
): Promise<Burst> {
  const ms: number[] = []
  const writeMs: number[] = []
  for (let n = 0; n < count; n++) {
    const moved = movedServices(context, changes)
    const took = await timeChange(
      context,
      moved.map(({ service, addresses }) => target(service, ...addresses)),
      () =>
        Promise.all(
          moved.map(({ service, addresses }) => context.cluster.setEndpoints(service, addresses)),
        ),
    )
    ms.push(took.ms)
    writeMs.push(took.writeMs)
  }
  return { changes, ms, writeMs }
}

export function movedServices(
  { cluster, freshAddress }: Pick<ChangeContext, 'cluster' | 'freshAddress'>,
  changes: number,
) {
  return Array.from({ length: Math.min(changes, cluster.size) }, (_, n) => {
    const service = pick(cluster, n)
    const addresses = cluster.endpointsOf(service).map(() => freshAddress())
    return { service, addresses }
  })
}
