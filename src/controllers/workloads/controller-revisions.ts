import { type JsonObject, objectAt, without } from '../../lib/json.ts'
import { labelMatcher } from '../../resources/label-selector.ts'
import { COLLECTION_ROUTES } from '../cache/collection-route.ts'
import { orphanGroup } from '../cache/collections.ts'
import type { ObjectChange, View } from '../cache/object-cache.ts'
import { controllerOf, keyOf } from '../objects/object-meta.ts'
import type { RevisionObject } from '../objects/revision-object.ts'
import { countAt, type WorkloadObject } from '../objects/workload-object.ts'
import { type Deletion, statusPatch, type Write } from '../runner/write.ts'
import { isSameTemplate, templateHash } from './deployment/owned-sets.ts'
import { adopt, controlledBy, controllerReference } from './shared/pods-of.ts'

/** Label of Pods: the revision of their template. */
export const POD_REVISION = 'controller-revision-hash'

/** By kind of workload: the label of its ControllerRevisions that holds the hash of the template. */
const HASH_LABELS = {
  daemonsets: POD_REVISION,
  statefulsets: 'controller.kubernetes.io/hash',
} as const

/** The kinds whose templates are kept as ControllerRevisions. */
export type RevisionOwner = keyof typeof HASH_LABELS

/** The name of a revision begins with at most this many characters of the name of its owner. */
const MAX_PREFIX = 223
const DEFAULT_LIMIT = 10

/** The revisions of a workload, oldest first. */
export interface History {
  readonly revisions: readonly RevisionObject[]
  /** The one that keeps the present template. */
  readonly update: RevisionObject
}

/**
 * The history of a workload; or the writes that it needs first. In a history the present template has the revision with
 * the greatest number. Revisions that the workload selects and that have no controller are adopted.
 */
export function historyOf(
  collection: RevisionOwner,
  owner: WorkloadObject,
  view: View,
): History | readonly Write[] {
  const orphans = adoptable(owner, view)
  if (orphans.length > 0) {
    return orphans.map(({ meta }) =>
      adopt('controllerrevisions', meta, { collection, meta: owner.meta }),
    )
  }
  const revisions = owned(owner, view)
  const last = revisions.at(-1)
  const update = revisions.findLast((one) => isOf(one, owner.template))
  if (update !== undefined && update === last) return { revisions, update }
  const revision = (last?.revision ?? 0) + 1
  if (update !== undefined) {
    return [
      { verb: 'patch', collection: 'controllerrevisions', meta: update.meta, body: { revision } },
    ]
  }
  return creation(collection, owner, { revisions, revision }, view)
}

/** The write of a new revision. An existing one with the same name and template is used instead. */
function creation(
  collection: RevisionOwner,
  owner: WorkloadObject,
  {
    revisions,
    revision,
  }: { readonly revisions: readonly RevisionObject[]; readonly revision: number },
  view: View,
): History | readonly Write[] {
  const { meta, template, status } = owner
  const collisionCount = countAt(status, 0, 'collisionCount')
  const data = dataOf(template)
  const hash = templateHash(template, collisionCount)
  const { namespace } = meta
  const name = `${meta.name.slice(0, MAX_PREFIX)}-${hash}`
  const found = view.controllerrevisions.get(keyOf({ namespace, name }))
  // It is not among the owned ones: it belongs to an earlier owner of the same name, or is being deleted.
  if (found !== undefined && isOf(found, template)) return { revisions, update: found }
  if (found !== undefined) {
    return [statusPatch(collection, meta, { collisionCount: collisionCount + 1 })]
  }
  const labels = objectAt(template, 'metadata', 'labels')
  const metadata = {
    name,
    namespace,
    labels: { ...labels, [HASH_LABELS[collection]]: hash },
    annotations: meta.annotations,
    ownerReferences: [controllerReference(collection, meta)],
  }
  const body = { apiVersion: 'apps/v1', kind: 'ControllerRevision', metadata, data, revision }
  return [{ verb: 'create', collection: 'controllerrevisions', namespace, name, body }]
}

/**
 * The deletions of the oldest revisions beyond `revisionHistoryLimit`. Those for which `isLive` is true stay, and do not
 * count.
 */
export function surplusRevisions(
  { spec }: WorkloadObject,
  { revisions, update }: History,
  isLive: (revision: RevisionObject) => boolean,
): readonly Deletion[] {
  const past = revisions.filter((one) => one !== update && !isLive(one))
  const surplus = past.length - countAt(spec, DEFAULT_LIMIT, 'revisionHistoryLimit')
  return past
    .slice(0, Math.max(0, surplus))
    .map(({ meta }) => ({ verb: 'delete', collection: 'controllerrevisions', meta }))
}

/** The template that a revision keeps. */
export function templateOf({ data }: RevisionObject): JsonObject {
  return without(objectAt(data, 'spec', 'template'), '$patch')
}

/** The hash of the template of a revision. */
export function hashOf(collection: RevisionOwner, { meta }: RevisionObject): string {
  return meta.labels[HASH_LABELS[collection]] ?? ''
}

/** The keys of the workloads of one kind that a change of a ControllerRevision concerns. */
export function workloadsOfRevision(
  collection: RevisionOwner,
): (change: ObjectChange<RevisionObject>) => readonly string[] {
  const { kind } = COLLECTION_ROUTES[collection]
  return ({ before, after }) => {
    const revision = after ?? before
    const owner = revision && controllerOf(revision.meta)
    if (owner?.kind !== kind) return []
    return [keyOf({ namespace: revision?.meta.namespace ?? '', name: owner.name })]
  }
}

/** A strategic merge patch that brings the template back, as kubectl sends it to undo a rollout. */
function dataOf(template: JsonObject): JsonObject {
  return { spec: { template: { ...template, $patch: 'replace' } } }
}

function owned({ meta }: WorkloadObject, view: View): readonly RevisionObject[] {
  return controlledBy(meta, view.controllerrevisions)
    .filter((one) => !one.meta.terminating)
    .toSorted((a, b) => a.revision - b.revision || (a.meta.name < b.meta.name ? -1 : 1))
}

/** Revisions that the selector selects and that have no controller, as `kubectl delete --cascade=orphan` leaves them. */
function adoptable({ meta, selector }: WorkloadObject, view: View): readonly RevisionObject[] {
  if (meta.terminating || selector === undefined) return []
  const isSelected = labelMatcher(selector)
  return [...view.controllerrevisions.group(orphanGroup(meta.namespace))].filter(
    (one) => !one.meta.terminating && isSelected(one.meta.labels),
  )
}

/** Whether a revision keeps this template. */
function isOf(revision: RevisionObject, template: JsonObject): boolean {
  return isSameTemplate(templateOf(revision), template)
}
