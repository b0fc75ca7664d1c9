import { EMPTIED } from '../resources/label-names.ts'
import {
  conditionMatches,
  readCondition,
  setCondition,
  type WantedCondition,
} from '../resources/status-condition.ts'
import {
  COLLECTION_NAMES,
  COLLECTION_ROUTES,
  type CollectionName,
  groupOf,
  perCollection,
  typeOf,
} from './cache/collection-route.ts'
import { namespaceGroup } from './cache/collections.ts'
import type { ObjectChange, View } from './cache/object-cache.ts'
import type { ObjectMeta } from './objects/object-meta.ts'
import type { NamespaceObject } from './objects/plain-objects.ts'
import { type Controller, type Reconciliation, SETTLED } from './runner/controller.ts'
import { type Deletion, type Patch, statusPatch } from './runner/write.ts'

/**
 * Conditions that are always False here: all kinds are known without discovery, and the runner retries and
 * reports refused deletions.
 */
const ALWAYS: readonly WantedCondition[] = [
  {
    type: 'NamespaceDeletionDiscoveryFailure',
    status: 'False',
    reason: 'ResourcesDiscovered',
    message: 'All resources successfully discovered',
  },
  {
    type: 'NamespaceDeletionContentFailure',
    status: 'False',
    reason: 'ContentDeleted',
    message: 'All content successfully deleted, may be waiting on finalization',
  },
]

/**
 * Deletes the contents of a namespace that is being deleted, then its finalizer. Other contents are deleted only
 * when the Pods are gone, because NetworkPolicies must not be deleted before the Pods that they limit
 * (CVE-2024-7598).
 */
export const namespaceLifecycleController: Controller = {
  name: 'namespacelifecycle',
  account: 'namespace-controller',
  watches: {
    ...perCollection(() => contentAffects),
    namespaces: ({ key, after }) => (after?.meta.terminating === true ? [key] : []),
  },
  reconcile,
}

function contentAffects(
  { before, after }: ObjectChange<{ readonly meta: ObjectMeta }>,
  view: View,
): readonly string[] {
  const namespace = (after ?? before)?.meta.namespace ?? ''
  return view.namespaces.get(namespace)?.meta.terminating === true ? [namespace] : []
}

function reconcile(key: string, view: View, now: number): Reconciliation {
  const namespace = view.namespaces.get(key)
  const isClosed = namespace?.meta.terminating === true && namespace.finalizers.includes(EMPTIED)
  if (!isClosed) return SETTLED
  const left = contentsOf(key, view)
  if (left.length === 0) return { writes: [finalized(namespace)] }
  const pods = left.filter(({ collection }) => collection === 'pods')
  const [first, ...rest] = deletionsOf(pods.length > 0 ? pods : left)
  if (first === undefined) return { writes: reported(namespace, left, now) }
  return { writes: [{ ...first, ...conditionsFor(namespace, pods.length === 0) }, ...rest] }
}

/** Deletions of the contents that are not being deleted yet. */
function deletionsOf(contents: readonly Contents[]): readonly Deletion[] {
  return contents.flatMap(({ collection, objects }) =>
    objects
      .filter((meta) => !meta.terminating)
      .map((meta): Deletion => ({ verb: 'delete', collection, meta, anyVersion: true })),
  )
}

/**
 * What the server has to confirm before the first deletion, because the caches may be behind: that the
 * namespace still has this uid, and, before contents other than Pods are deleted, that it has no Pods.
 */
function conditionsFor(
  { meta: { name, uid } }: NamespaceObject,
  isAfterPods: boolean,
): Pick<Deletion, 'present' | 'emptied'> {
  const present = { collection: 'namespaces', namespace: '', name, uid } as const
  return isAfterPods ? { present, emptied: 'pods' } : { present }
}

function finalized({ meta, finalizers }: NamespaceObject): Patch {
  const left = finalizers.filter((one) => one !== EMPTIED)
  const body = { spec: { finalizers: left } }
  return { verb: 'patch', collection: 'namespaces', meta, subresource: 'finalize', body }
}

/** The write of the conditions that report what the namespace waits for; empty if its status already has them. */
function reported(
  { meta, status }: NamespaceObject,
  left: readonly Contents[],
  now: number,
): readonly Patch[] {
  const changed = conditionsOf(left).flatMap((wanted) => {
    const known = readCondition(status, wanted.type)
    return conditionMatches(known, wanted) ? [] : [setCondition(known, wanted, now)]
  })
  if (changed.length === 0) return []
  return [statusPatch('namespaces', meta, { conditions: changed })]
}

/** The conditions of Kubernetes that report what is left in a namespace whose contents are all being deleted. */
function conditionsOf(left: readonly Contents[]): readonly WantedCondition[] {
  const remaining = left.map(({ collection, objects }) => {
    const group = groupOf(typeOf(collection).apiVersion)
    return `${collection}.${group} has ${objects.length} resource instances`
  })
  const finalizers = left.flatMap(({ objects }) => objects.flatMap((meta) => meta.finalizers))
  const held = [...Map.groupBy(finalizers, (name) => name)].map(
    ([name, { length }]) => `${name} in ${length} resource instances`,
  )
  return [...ALWAYS, contentRemaining(remaining), finalizersRemaining(held)]
}

function contentRemaining(remaining: readonly string[]): WantedCondition {
  return {
    type: 'NamespaceContentRemaining',
    status: 'True',
    reason: 'SomeResourcesRemain',
    message: `Some resources are remaining: ${remaining.join(', ')}`,
  }
}

function finalizersRemaining(held: readonly string[]): WantedCondition {
  const type = 'NamespaceFinalizersRemaining'
  if (held.length === 0) {
    const message = 'All content-preserving finalizers finished'
    return { type, status: 'False', reason: 'ContentHasNoFinalizers', message }
  }
  const message = `Some content in the namespace has finalizers remaining: ${held.join(', ')}`
  return { type, status: 'True', reason: 'SomeFinalizersRemain', message }
}

/** The objects of one collection that are in a namespace; at least one. */
interface Contents {
  readonly collection: CollectionName
  readonly objects: readonly ObjectMeta[]
}

/** Everything in a namespace that must be deleted before the namespace: all objects except Events. */
function contentsOf(namespace: string, view: View): readonly Contents[] {
  return COLLECTION_NAMES.filter((collection) => COLLECTION_ROUTES[collection].namespaced)
    .map((collection) => {
      const members = view[collection].group(namespaceGroup(namespace))
      return { collection, objects: [...members].map(({ meta }) => meta) }
    })
    .filter(({ objects }) => objects.length > 0)
}
