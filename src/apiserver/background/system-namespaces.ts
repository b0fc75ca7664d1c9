import { timestamp } from '../../lib/timestamp.ts'
import { EMPTIED } from '../../resources/finalizers.ts'
import { NAMESPACE_NAME } from '../../resources/label-names.ts'
import { NODE_LEASES } from '../../resources/names.ts'
import type { ServerContext } from '../context/server-context.ts'
import { encodeStored } from '../encoding/codec.ts'
import { LASTING_NAMESPACES } from '../kinds/namespace/lifecycle.ts'
import { namespaces } from '../kinds/namespace/resource.ts'
import { storageKey } from '../resource/resource.ts'

/** The namespaces that cannot be deleted, and that of the Leases of nodes. */
const SYSTEM_NAMESPACES = [...LASTING_NAMESPACES, NODE_LEASES]

/** Creates those of the namespaces that every cluster has that are missing. */
export async function ensureSystemNamespaces(context: ServerContext): Promise<void> {
  for (const name of SYSTEM_NAMESPACES) await ensureNamespace(context, name)
}

async function ensureNamespace(
  { store, clock, random }: ServerContext,
  name: string,
): Promise<void> {
  const key = storageKey(namespaces, '', name)
  const value = encodeStored({
    metadata: {
      name,
      uid: random.uuid(),
      creationTimestamp: timestamp(clock.now()),
      labels: { [NAMESPACE_NAME]: name },
    },
    spec: { finalizers: [EMPTIED] },
    status: { phase: 'Active' },
  })
  await store.txn({ compare: [{ key, modRevision: 0 }], operations: [{ op: 'put', key, value }] })
}
