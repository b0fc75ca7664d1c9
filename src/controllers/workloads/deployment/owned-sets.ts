import { isDeepEqual } from '../../../lib/equal.ts'
import { contentHash } from '../../../lib/hash.ts'
import { isJsonObject, type Json, type JsonObject, objectAt, without } from '../../../lib/json.ts'
import { selectsLabels } from '../../../resources/label-selector.ts'
import { namespaceGroup, orphanGroup } from '../../cache/collections.ts'
import type { ObjectChange, View } from '../../cache/object-cache.ts'
import { byAge, controllerOf, keyOf } from '../../objects/object-meta.ts'
import type { PodObject } from '../../objects/pod-object.ts'
import { countAt, type WorkloadObject } from '../../objects/workload-object.ts'
import type { Create, Patch } from '../../runner/write.ts'
import {
  adopt,
  controlledBy,
  controllerReference,
  release,
  untilAvailable,
} from '../shared/pods-of.ts'
import { byDeletionOrder, isActive } from '../shared/surplus-pods.ts'

/** Label of the ReplicaSets of a Deployment and of their Pods, and in their selectors: the hash of the template. */
export const TEMPLATE_HASH = 'pod-template-hash'

/** The ReplicaSets of a Deployment. */
export interface OwnedSets {
  /** The oldest of those with the present template. */
  readonly current: WorkloadObject | undefined
  /** The others, the oldest first. */
  readonly old: readonly WorkloadObject[]
}

/**
 * The ReplicaSets that a Deployment controls and selects, and the writes that adopt those without a controller that it
 * selects, and release those that it no longer selects. One that is being deleted adopts and releases none.
 */
export function claimSets(
  deployment: WorkloadObject,
  view: View,
): OwnedSets & { readonly writes: readonly Patch[] } {
  const { meta } = deployment
  const controlled = controlledBy(meta, view.replicasets)
  const found = meta.terminating
    ? []
    : [...view.replicasets.group(orphanGroup(meta.namespace))].filter(
        (set) => !set.meta.terminating && isSelected(deployment, set),
      )
  const lost = meta.terminating
    ? []
    : controlled.filter((set) => !isSelected(deployment, set) && !set.meta.terminating)
  const sets = controlled.filter((set) => isSelected(deployment, set)).toSorted(byAge)
  const current = sets.find(({ template }) => isSameTemplate(template, deployment.template))
  return {
    current,
    old: sets.filter((set) => set !== current),
    writes: [
      ...found.map((set) => adopt('replicasets', set.meta, { collection: 'deployments', meta })),
      ...lost.map((set) => release('replicasets', set.meta, meta.uid)),
    ],
  }
}

function isSelected({ selector }: WorkloadObject, { meta }: WorkloadObject): boolean {
  return selector !== undefined && selectsLabels(selector, meta.labels)
}

/** The keys of the Deployments that a change of a ReplicaSet concerns. */
export function deploymentsOfSet(
  { before, after }: ObjectChange<WorkloadObject>,
  view: View,
): readonly string[] {
  const sets = [before, after].filter((set) => set !== undefined)
  return [...new Set(sets.flatMap((set) => deploymentsOf(set, view)))]
}

function deploymentsOf(set: WorkloadObject, view: View): readonly string[] {
  const controller = controllerOf(set.meta)
  if (controller !== undefined) {
    const key = keyOf({ namespace: set.meta.namespace, name: controller.name })
    return view.deployments.get(key)?.meta.uid === controller.uid ? [key] : []
  }
  return [...view.deployments.group(namespaceGroup(set.meta.namespace))]
    .filter((deployment) => isSelected(deployment, set))
    .map(({ meta }) => meta.key)
}

/** The keys of the Deployments of a Pod that appears, vanishes, ends, or changes its controller, deletion or readiness. */
export function deploymentsOfPod(
  { before, after }: ObjectChange<PodObject>,
  view: View,
): readonly string[] {
  if (before !== undefined && after !== undefined && isDeepEqual(facts(before), facts(after))) {
    return []
  }
  const pods = [before, after].filter((pod) => pod !== undefined)
  const keys = pods.flatMap(({ meta }) => {
    const controller = controllerOf(meta)
    const key = keyOf({ namespace: meta.namespace, name: controller?.name ?? '' })
    const set = view.replicasets.get(key)
    return set === undefined || set.meta.uid !== controller?.uid ? [] : deploymentsOf(set, view)
  })
  return [...new Set(keys)]
}

function facts({ meta, finished, readiness }: PodObject): unknown {
  return [controllerOf(meta)?.uid, meta.terminating, finished, readiness]
}

/** A ReplicaSet with what the decisions of a rollout depend on. */
export interface SizedSet {
  readonly set: WorkloadObject
  /** The greater of `spec.replicas` and the number of its Pods, because it may still have to make or delete some. */
  readonly held: number
  /** How many of its Pods are available, without those that it is about to delete. */
  readonly available: number
}

/** Counts the Pods themselves, because the status of a ReplicaSet may be older than they are. */
export function sizeOf(set: WorkloadObject, view: View, now: number): SizedSet {
  const pods = controlledBy(set.meta, view.pods).filter(isActive)
  const surplus = Math.max(0, pods.length - set.replicas)
  const kept = surplus === 0 ? pods : byDeletionOrder(set, pods, view).slice(surplus)
  return {
    set,
    held: Math.max(set.replicas, pods.length),
    available: kept.filter((pod) => untilAvailable(pod, set.minReadyMs, now) === 0).length,
  }
}

/** Whether a ReplicaSet has Pods that have not ended, by its status or by the Pods. Those that are being deleted count. */
export function hasRunningPods(set: WorkloadObject, view: View): boolean {
  return (
    countAt(set.status, 0, 'replicas') > 0 ||
    controlledBy(set.meta, view.pods).some(({ finished }) => !finished)
  )
}

/** Whether two templates make the same Pods. The label with the hash of the template is not compared. */
export function isSameTemplate(a: JsonObject, b: JsonObject): boolean {
  return isDeepEqual(comparable(a), comparable(b))
}

function comparable(template: JsonObject): Json {
  const metadata = objectAt(template, 'metadata')
  const labels = without(objectAt(metadata, 'labels'), TEMPLATE_HASH)
  return canonical({ ...template, metadata: { ...metadata, labels } })
}

/** Leaves out null values and empty lists, and sorts the keys. */
function canonical(value: Json): Json {
  if (Array.isArray(value)) return value.map(canonical)
  if (!isJsonObject(value)) return value
  const fields = Object.entries(value).filter(
    ([, one]) => one !== null && !(Array.isArray(one) && one.length === 0),
  )
  const sorted = fields.toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted.map(([key, one]) => [key, canonical(one)]))
}

/** No vowels and no digits that look like them, so that no name contains a word. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789'
const HASH_LENGTH = 10

/** The hash of a template. Each `collisionCount` gives another hash. */
export function templateHash(template: JsonObject, collisionCount: number): string {
  let rest = contentHash(JSON.stringify([comparable(template), collisionCount]))
  let text = ''
  while (text.length < HASH_LENGTH) {
    text += ALPHABET[rest % ALPHABET.length]
    rest = Math.floor(rest / ALPHABET.length)
  }
  return text
}

/** A new ReplicaSet of the present template, without annotations. */
export function newSet(deployment: WorkloadObject, hash: string, replicas: number): Create {
  const { meta, template, selector, spec } = deployment
  const metadata = objectAt(template, 'metadata')
  const labels = { ...objectAt(metadata, 'labels'), [TEMPLATE_HASH]: hash }
  const name = `${meta.name}-${hash}`
  const minReadySeconds = countAt(spec, 0, 'minReadySeconds')
  const matchLabels = { ...objectAt(selector, 'matchLabels'), [TEMPLATE_HASH]: hash }
  return {
    verb: 'create',
    collection: 'replicasets',
    namespace: meta.namespace,
    name,
    body: {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: {
        name,
        namespace: meta.namespace,
        labels,
        ownerReferences: [controllerReference('deployments', meta)],
      },
      spec: {
        replicas,
        ...(minReadySeconds > 0 && { minReadySeconds }),
        selector: { ...(isJsonObject(selector) ? selector : {}), matchLabels },
        template: { ...template, metadata: { ...metadata, labels } },
      },
    },
  }
}
