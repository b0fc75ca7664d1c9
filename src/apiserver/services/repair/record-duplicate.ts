import { type JsonObject, objectAt, stringAt } from '../../../lib/json.ts'
import { timestamp } from '../../../lib/timestamp.ts'
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
  const [name, namespace] = [stringAt(metadata, 'name'), stringAt(metadata, 'namespace')]
  const { uid, resourceVersion } = metadata
  const event = {
    metadata: { generateName: `${name}.`, namespace },
    involvedObject: { apiVersion: 'v1', kind: 'Service', namespace, name, uid, resourceVersion },
    ...happening(key, timestamp(serving.clock.now())),
  } as JsonObject
  await createObject(serving, systemRequest('POST', events, namespace, ''), event, false)
}

function happening(key: string, at: string): JsonObject {
  const { kind, text } = describeKey(key)
  const what = kind === 'address' ? 'ClusterIP' : 'Port'
  return {
    type: 'Warning',
    reason: `${what}AlreadyAllocated`,
    message: `${what === 'Port' ? 'node port' : what} ${text} is another Service's; please recreate this one`,
    source: { component: 'orch-server' },
    ...{ firstTimestamp: at, lastTimestamp: at, count: 1 },
  }
}
