import { objectAt, stringAt } from '../../../lib/json.ts'
import { coreEvent } from '../../../resources/core-event.ts'
import { decodeStored } from '../../codec.ts'
import { events } from '../../kinds/event.ts'
import type { Serving } from '../../serving.ts'
import { systemRequest } from '../../system/system-request.ts'
import { createObject } from '../../verbs/create.ts'
import { describeKey } from '../claim.ts'
import type { Claim } from './audit.ts'

/** An Event at the Service that holds what is another one's; none when it is gone. */
export async function recordDuplicate(serving: Serving, { key, holder }: Claim): Promise<void> {
  const entry = await serving.store.get(holder.key)
  if (entry === undefined) return
  const metadata = objectAt(decodeStored(entry), 'metadata')
  const namespace = stringAt(metadata, 'namespace')
  const now = serving.clock.now()
  const event = coreEvent({
    regarding: {
      ...{ apiVersion: 'v1', kind: 'Service', namespace },
      name: stringAt(metadata, 'name'),
      uid: stringAt(metadata, 'uid'),
      resourceVersion: stringAt(metadata, 'resourceVersion'),
    },
    ...happening(key),
    ...{ component: 'orch-server', first: now, last: now, count: 1 },
  })
  await createObject(serving, systemRequest('POST', events, namespace, ''), event, false)
}

function happening(key: string) {
  const { kind, text } = describeKey(key)
  const what = kind === 'address' ? 'ClusterIP' : 'Port'
  const name = kind === 'address' ? 'ClusterIP' : 'node port'
  return {
    type: 'Warning',
    reason: `${what}AlreadyAllocated`,
    message: `${name} ${text} is another Service's; please recreate this one`,
  } as const
}
