import { objectAt, stringAt } from '../../../lib/json.ts'
import { coreEvent } from '../../../resources/core-event.ts'
import { describeKey } from '../../allocation/allocation-keys.ts'
import { isReadable, readItem } from '../../cache/item.ts'
import type { ServerContext } from '../../context/server-context.ts'
import { decodeStored } from '../../encoding/codec.ts'
import { events } from '../../kinds/event/resource.ts'
import { services } from '../../kinds/service/resource.ts'
import { createObject } from '../../verbs/create.ts'
import { systemRequest } from '../system-request.ts'
import type { Claim } from './audit.ts'

/** A fault of an allocation that lasts until a client recreates the Service. */
export type LastingFault = 'duplicate' | 'outOfRange'

const FAULTS: Readonly<
  Record<LastingFault, { readonly reason: string; readonly problem: string }>
> = {
  duplicate: { reason: 'AlreadyAllocated', problem: "another Service's" },
  outOfRange: { reason: 'OutOfRange', problem: 'outside the range that this server gives out' },
}

/** Writes a Warning Event about the Service; none when the Service was deleted or is unreadable. */
export async function recordFault(
  context: ServerContext,
  { key, holder }: Claim,
  fault: LastingFault,
): Promise<void> {
  const entry = await context.store.get(holder.key)
  if (entry === undefined || !isReadable(readItem(services, entry))) return
  const metadata = objectAt(decodeStored(entry), 'metadata')
  const namespace = stringAt(metadata, 'namespace')
  const now = context.clock.now()
  const event = coreEvent({
    regarding: {
      ...{ apiVersion: 'v1', kind: 'Service', namespace },
      name: stringAt(metadata, 'name'),
      uid: stringAt(metadata, 'uid'),
      resourceVersion: stringAt(metadata, 'resourceVersion'),
    },
    ...describeFault(key, fault),
    ...{ component: 'orch-server', first: now, last: now, count: 1 },
  })
  const request = { method: 'POST', resource: events, namespace, name: '' } as const
  await createObject(context, systemRequest(context, request), event, { dryRun: false })
}

/** The reasons of kube-apiserver: ClusterIPAlreadyAllocated, PortOutOfRange and so on. */
function describeFault(key: string, fault: LastingFault) {
  const { kind, text } = describeKey(key)
  const [prefix, name] = kind === 'address' ? ['ClusterIP', 'ClusterIP'] : ['Port', 'node port']
  const { reason, problem } = FAULTS[fault]
  return {
    type: 'Warning',
    reason: `${prefix}${reason}`,
    message: `${name} ${text} is ${problem}; please recreate this Service`,
  } as const
}
