import type { Burst } from '../report/results.ts'
import { type AnyChangeContext, pick, target } from './context.ts'
import { timeChange } from './replace-endpoint.ts'

/**
 * Changes the endpoints of many Services at once. All writes are sent together, and each replaces all endpoints, so
 * that one new connection shows whether the change has taken effect.
 */
export async function bursts(
  context: AnyChangeContext,
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
  { cluster, freshAddress }: Pick<AnyChangeContext, 'cluster' | 'freshAddress'>,
  changes: number,
) {
  return Array.from({ length: Math.min(changes, cluster.size) }, (_, n) => {
    const service = pick(cluster, n)
    const addresses = cluster.endpointsOf(service).map(() => freshAddress())
    return { service, addresses }
  })
}
