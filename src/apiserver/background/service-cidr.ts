import { timestamp } from '../../lib/duration.ts'
import { isDeepEqual } from '../../lib/equal.ts'
import { type Json, valueAt } from '../../lib/json.ts'
import { serviceCidrs } from '../kinds/service-cidr.ts'
import { StatusError } from '../status/status.ts'
import { type BackgroundContext, ensureObject } from './system-request.ts'

/** The name that the ServiceCIDR of the default ranges has in Kubernetes. */
const NAME = 'kubernetes'

/**
 * Writes the ranges from which this server takes ClusterIPs into the ServiceCIDR `kubernetes`.
 * @throws Error when the server rejects it
 */
export async function ensureServiceCidr(context: BackgroundContext): Promise<void> {
  const cidrs = context.allocator.ranges.map(({ cidr }) => cidr)
  const ready: Json = {
    type: 'Ready',
    status: 'True',
    reason: '',
    message: 'the server takes ClusterIPs from these ranges',
    lastTransitionTime: timestamp(context.clock.now()),
  }
  const written = await ensureObject(context, {
    resource: serviceCidrs,
    namespace: '',
    name: NAME,
    next: (old) =>
      isDeepEqual(valueAt(old, 'spec', 'cidrs'), cidrs)
        ? old
        : { ...old, spec: { cidrs }, status: { conditions: [ready] } },
  })
  if (written instanceof StatusError)
    throw new Error(`ServiceCIDR ${NAME}: ${written.status.message}`)
}
