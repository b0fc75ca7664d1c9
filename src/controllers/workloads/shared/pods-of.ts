import { type JsonObject, objectAt, stringAt, stringsAt } from '../../../lib/json.ts'
import { labelMatcher } from '../../../resources/label-selector.ts'
import { COLLECTION_ROUTES, type CollectionName, typeOf } from '../../cache/collection-route.ts'
import { namespaceGroup, orphanGroup, ownerGroup } from '../../cache/collections.ts'
import type { ObjectChange, View } from '../../cache/object-cache.ts'
import { controllerOf, keyOf, type ObjectMeta } from '../../objects/object-meta.ts'
import type { PodObject } from '../../objects/pod-object.ts'
import { countAt, type WorkloadObject } from '../../objects/workload-object.ts'
import type { Create, Patch } from '../../runner/write.ts'

/** The kinds whose controllers own Pods. */
export type PodOwner = 'replicasets' | 'daemonsets' | 'statefulsets' | 'jobs'

/** How an object refers to the owner that controls it. */
export function controllerReference(collection: CollectionName, owner: ObjectMeta): JsonObject {
  return {
    ...typeOf(collection),
    name: owner.name,
    uid: owner.uid,
    controller: true,
    blockOwnerDeletion: true,
  }
}

/** The objects of a collection that an owner controls, whether it selects them or not. */
export function controlledBy<T extends { readonly meta: ObjectMeta }>(
  { uid }: ObjectMeta,
  objects: { group(name: string): Iterable<T> },
): readonly T[] {
  return [...objects.group(ownerGroup(uid))].filter(({ meta }) => controllerOf(meta)?.uid === uid)
}

/** Which Pods belong to a workload. */
export interface ClaimedPods {
  /** Those that it controls and selects, also those that have ended or are being deleted. */
  readonly pods: readonly PodObject[]
  /** Adopts the Pods that it selects and that have no controller, and releases those that it no longer selects. */
  readonly writes: readonly Patch[]
}

/** How a workload claims Pods. */
interface ClaimRules {
  /** Which of the Pods that it selects may be its own; absent: all. */
  readonly mayHave?: (pod: PodObject) => boolean
  /** A finalizer that Pods get with their owner. */
  readonly finalizer?: string
}

/**
 * The Pods of a workload. Between two workloads that select the same Pod the one that controls it has it; a workload
 * that is being deleted adopts and releases none.
 */
export function claimPods(
  collection: PodOwner,
  owner: WorkloadObject,
  view: View,
  { mayHave = () => true, finalizer }: ClaimRules = {},
): ClaimedPods {
  const { meta } = owner
  const matches = selectorOf(owner)
  const isSelected = (pod: PodObject): boolean => matches(pod) && mayHave(pod)
  const controlled = controlledBy(meta, view.pods)
  const lost = meta.terminating ? [] : controlled.filter((pod) => !isSelected(pod))
  const found = meta.terminating
    ? []
    : [...view.pods.group(orphanGroup(meta.namespace))].filter(
        (pod) => !pod.meta.terminating && isSelected(pod),
      )
  return {
    pods: controlled.filter(isSelected),
    writes: [
      ...found.map((pod) => adopt('pods', pod.meta, { collection, meta: owner.meta }, finalizer)),
      ...lost.map((pod) => release('pods', pod.meta, meta.uid)),
    ],
  }
}

/** A workload with at most this many Pods is reconciled at once after each change. */
const FEW_PODS = 50
const MAX_GATHER_MS = 250
/** The fields of the status that hold the number of Pods: of ReplicaSets and Deployments, of DaemonSets, and of Jobs. */
const POD_COUNTS = ['replicas', 'desiredNumberScheduled', 'active']

/**
 * Milliseconds for which changes of a workload are gathered before it is reconciled. The cost of a reconcile grows with the
 * number of Pods, and the Pods become ready one by one.
 */
export function gatherMs(workload: WorkloadObject | undefined): number {
  if (workload === undefined) return 0
  const { replicas, status } = workload
  const pods = Math.max(replicas, ...POD_COUNTS.map((name) => countAt(status, 0, name)))
  return pods <= FEW_PODS ? 0 : Math.min(pods, MAX_GATHER_MS)
}

/** The keys of the workloads of one kind that a change of a Pod concerns. */
export function workloadsOfPod(
  collection: PodOwner,
): (change: ObjectChange<PodObject>, view: View) => readonly string[] {
  return ({ before, after }, view) => {
    const pods = [before, after].filter((pod) => pod !== undefined)
    return [...new Set(pods.flatMap((pod) => workloadsOf(collection, pod, view)))]
  }
}

function workloadsOf(collection: PodOwner, pod: PodObject, view: View): readonly string[] {
  const controller = controllerOf(pod.meta)
  if (controller !== undefined) {
    const { kind } = COLLECTION_ROUTES[collection]
    const key = keyOf({ namespace: pod.meta.namespace, name: controller.name })
    return controller.kind === kind && view[collection].get(key)?.meta.uid === controller.uid
      ? [key]
      : []
  }
  return [...view[collection].group(namespaceGroup(pod.meta.namespace))]
    .filter((workload) => selectorOf(workload)(pod))
    .map(({ meta }) => meta.key)
}

/**
 * The write of a Pod from the template of a workload. If `name` ends with `-`, the server completes it. Keys of `labels`,
 * `annotations` and `spec` replace those of the template; `finalizers` are added.
 */
export function podOf(
  collection: PodOwner,
  owner: WorkloadObject,
  { name, labels = {}, annotations = {}, finalizers = [], spec = {} }: PodDifference,
): Create {
  const { meta, template } = owner
  const metadata = objectAt(template, 'metadata')
  const isGenerated = name.endsWith('-')
  const naming = isGenerated ? { generateName: name } : { name }
  return {
    verb: 'create',
    collection: 'pods',
    namespace: meta.namespace,
    name: isGenerated ? '' : name,
    body: {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        ...naming,
        namespace: meta.namespace,
        labels: { ...objectAt(metadata, 'labels'), ...labels },
        annotations: { ...objectAt(metadata, 'annotations'), ...annotations },
        finalizers: [...new Set([...stringsAt(metadata, 'finalizers'), ...finalizers])],
        ownerReferences: [controllerReference(collection, meta)],
      },
      spec: { ...objectAt(template, 'spec'), ...spec },
    },
  }
}

/** In what a Pod differs from the template. */
export interface PodDifference {
  readonly name: string
  readonly labels?: JsonObject
  readonly annotations?: JsonObject
  readonly finalizers?: readonly string[]
  readonly spec?: JsonObject
}

/** Milliseconds until a Pod has been ready for `minReadyMs`; 0: it is available; infinite: it is not ready. */
export function untilAvailable({ readySince }: PodObject, minReadyMs: number, now: number): number {
  return readySince === undefined
    ? Number.POSITIVE_INFINITY
    : Math.max(0, readySince + minReadyMs - now)
}

function selectorOf({ selector }: WorkloadObject): (pod: PodObject) => boolean {
  if (selector === undefined) return () => false
  const matches = labelMatcher(selector)
  return ({ meta }) => matches(meta.labels)
}

/**
 * Makes an owner the one that controls an object, and adds a finalizer. The server has to confirm the owner first: the
 * caches may show an object that a deletion leaves behind before they show the deletion, and an object whose owner is gone
 * is deleted.
 */
export function adopt(
  collection: CollectionName,
  meta: ObjectMeta,
  owner: { readonly collection: CollectionName; readonly meta: ObjectMeta },
  finalizer?: string,
): Patch {
  const ownerReferences = [...references(meta), controllerReference(owner.collection, owner.meta)]
  const isHeld = finalizer === undefined || meta.finalizers.includes(finalizer)
  const held = isHeld ? {} : { finalizers: [...meta.finalizers, finalizer] }
  const { namespace, name, uid } = owner.meta
  return {
    verb: 'patch',
    collection,
    meta,
    body: { metadata: { ownerReferences, ...held } },
    undeleted: { collection: owner.collection, namespace, name, uid },
  }
}

/** Removes the owner with this uid from an object. */
export function release(collection: CollectionName, meta: ObjectMeta, uid: string): Patch {
  const others = references(meta).filter((one) => stringAt(one, 'uid') !== uid)
  const body = { metadata: { ownerReferences: [...others] } }
  return { verb: 'patch', collection, meta, body }
}

function references({ owners }: ObjectMeta): readonly JsonObject[] {
  return owners.map(({ reference }) => reference)
}
