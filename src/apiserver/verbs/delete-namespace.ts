import { type JsonObject, objectAt } from '../../lib/json.ts'
import { timestamp } from '../../lib/timestamp.ts'
import { type ApiRequest, subjectOf } from '../api-request.ts'
import { decodeStored, encodeStored } from '../codec.ts'
import { catalogue } from '../kinds/catalogue.ts'
import { namespaces } from '../kinds/namespace.ts'
import { forbidden } from '../refusals.ts'
import { storageKey, storagePrefix } from '../resource.ts'
import { keysHeldBy } from '../services/claim.ts'
import type { Serving } from '../serving.ts'
import type { Refusal } from '../status.ts'
import { checkPreconditions, type DeleteOptions } from './delete-options.ts'

/** Objects removed in one transaction. */
const BATCH = 100

/** What the cluster itself lives in. */
const SYSTEM = ['default', 'kube-system', 'kube-public', 'orch-system']

/** The namespaces of the system may not be deleted. */
export function protectNamespace(request: ApiRequest): Refusal | undefined {
  if (!SYSTEM.includes(request.name)) return undefined
  return forbidden(subjectOf(request), 'this namespace may not be deleted')
}

/**
 * Closes a namespace for new objects, then removes everything in it. Because a
 * create compares the namespace's revision, none can slip in behind the sweep.
 */
export async function emptyNamespace(
  serving: Serving,
  request: ApiRequest,
  options: DeleteOptions,
): Promise<Refusal | undefined> {
  if (options.dryRun) return undefined
  const refused = await close(serving, request, options)
  if (refused !== undefined) return refused
  for (const resource of catalogue) {
    if (resource.namespaced) await sweep(serving, storagePrefix(resource, request.name))
  }
  return undefined
}

async function close(
  serving: Serving,
  request: ApiRequest,
  options: DeleteOptions,
): Promise<Refusal | undefined> {
  const key = storageKey(namespaces, '', request.name)
  while (true) {
    const entry = await serving.store.get(key)
    if (entry === undefined) return undefined
    const object = decodeStored(entry)
    const refused = checkPreconditions(request, options, object)
    if (refused !== undefined) return refused
    const metadata = objectAt(object, 'metadata')
    const deletionTimestamp = metadata['deletionTimestamp'] ?? timestamp(serving.clock.now())
    const next = {
      ...object,
      metadata: { ...metadata, deletionTimestamp },
      status: { phase: 'Terminating' },
    }
    const result = await serving.store.txn({
      compare: [{ key, modRevision: entry.modRevision }],
      operations: [{ op: 'put', key, value: encodeStored(next) }],
    })
    if (result.committed) return undefined
  }
}

async function sweep(serving: Serving, prefix: string): Promise<void> {
  while (true) {
    const page = await serving.store.list({ prefix, limit: BATCH })
    if (page.refused !== undefined || page.entries.length === 0) return
    const keys = page.entries.flatMap((entry) => {
      const held = keysHeldBy(JSON.parse(entry.value.toString()) as JsonObject)
      return prefix.startsWith('/services/') ? [entry.key, ...held] : [entry.key]
    })
    const operations = keys.map((key) => ({ op: 'delete', key }) as const)
    const compare = page.entries.map(({ key, modRevision }) => ({ key, modRevision }))
    await serving.store.txn({ compare, operations })
  }
}
