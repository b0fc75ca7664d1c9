import { arrayAt, type JsonObject, objectAt, scalarText, stringAt } from '../../lib/json.ts'
import { EMPTIED, NAMESPACE_NAME } from '../../resources/label-names.ts'
import { readMetadata } from '../../resources/metadata.ts'
import { ownField, type Raw, type Reader } from '../../resources/reader.ts'
import { ageColumn, type Column, column, nameColumn } from '../resource/column.ts'
import type { ContainerRules, DeletionRules, NewIdentity } from '../resource/lifecycle-rules.ts'
import type { ContainerResource } from '../resource/resource.ts'
import { change, changePresent } from './shared/edit.ts'

const columns: readonly Column[] = [
  nameColumn,
  column('Status', 'Active, or being deleted.', (object) => stringAt(object, 'status', 'phase')),
  ageColumn,
]

/** The system namespaces, which cannot be deleted. */
export const LASTING_NAMESPACES: readonly string[] = [
  'default',
  'kube-public',
  'kube-system',
  'orch-system',
]

const namespaceDeletion: DeletionRules = {
  marked: closedNamespace,
  finalizers: namespaceFinalizers,
  protectedNames: LASTING_NAMESPACES,
  renewed: renewedNamespace,
}

const namespaceContainer: ContainerRules = {
  isClosed: (fields) => fields['status.phase'] === 'Terminating',
  waitsForContent,
  reportsEmpty,
}

export const namespaces: ContainerResource = {
  plural: 'namespaces',
  singular: 'namespace',
  kind: 'Namespace',
  shortNames: ['ns'],
  namespaced: false,
  versions: [{ group: '', version: 'v1' }],
  status: { initial: () => ({ phase: 'Active' }) },
  deletedOneByOne: true,
  reserved: { subresource: 'finalize', keep: keepLifecycle },
  deletion: namespaceDeletion,
  container: namespaceContainer,
  fields: (object) => ({ 'status.phase': stringAt(object, 'status', 'phase') }),
  columns,
  validate: checkNamespace,
  validateUpdate: 'none',
  defaults: defaultNamespace,
}

function checkNamespace(object: Reader): void {
  readMetadata(object, { namespaced: false, name: 'label' })
}

/** Every namespace has a label with its name, by which it can be selected. */
function defaultNamespace(namespace: Raw): Raw {
  return changePresent(namespace, 'metadata', (metadata) => {
    const name = ownField(metadata, 'name')
    if (typeof name !== 'string') return metadata
    return change(metadata, 'labels', (labels) => ({ ...labels, [NAMESPACE_NAME]: name }))
  })
}

/** `spec.finalizers`, which the deletion of a namespace waits for in addition to `metadata.finalizers`. */
function namespaceFinalizers(namespace: JsonObject): readonly string[] {
  return arrayAt(namespace, 'spec', 'finalizers').map(scalarText)
}

/** A namespace in which nothing can be created any more, and that waits to be emptied. */
function closedNamespace(namespace: JsonObject): JsonObject {
  const status = { ...objectAt(namespace, 'status'), phase: 'Terminating' }
  return { ...withLifecycleFinalizer(namespace), status }
}

/** Whether a namespace that is marked for deletion only waits for its content to be deleted. */
function waitsForContent(namespace: JsonObject): boolean {
  const others = namespaceFinalizers(namespace).filter((one) => one !== EMPTIED)
  return others.length === 0 && arrayAt(namespace, 'metadata', 'finalizers').length === 0
}

/** Whether an update removes the finalizer of the client that empties the namespace. */
function reportsEmpty(next: JsonObject, old: JsonObject): boolean {
  return namespaceFinalizers(old).includes(EMPTIED) && !namespaceFinalizers(next).includes(EMPTIED)
}

/** Keeps `spec.finalizers`, which have their own subresource, and the phase, which only a deletion changes. */
function keepLifecycle(next: JsonObject, old: JsonObject | undefined): JsonObject {
  if (old === undefined) return withLifecycleFinalizer(next)
  const status = { ...objectAt(next, 'status'), phase: stringAt(old, 'status', 'phase') }
  return { ...withFinalizers(next, namespaceFinalizers(old)), status }
}

/** A namespace with the finalizer that makes its deletion wait for the client that empties it. */
function withLifecycleFinalizer(namespace: JsonObject): JsonObject {
  const finalizers = namespaceFinalizers(namespace)
  return withFinalizers(namespace, [...new Set([...finalizers, EMPTIED])])
}

function withFinalizers(namespace: JsonObject, finalizers: readonly string[]): JsonObject {
  return { ...namespace, spec: { ...objectAt(namespace, 'spec'), finalizers: [...finalizers] } }
}

/**
 * The replacement for an unreadable namespace that is deleted. No object may outlive its namespace, so the new
 * one is marked for deletion and emptied like any other; a system namespace is not marked, because it is never
 * deleted.
 */
function renewedNamespace({ name, uid, now }: NewIdentity): JsonObject {
  const isLasting = LASTING_NAMESPACES.includes(name)
  return {
    metadata: {
      name,
      uid,
      creationTimestamp: now,
      ...(isLasting ? {} : { deletionTimestamp: now, deletionGracePeriodSeconds: 0 }),
      labels: { [NAMESPACE_NAME]: name },
    },
    spec: { finalizers: [EMPTIED] },
    status: { phase: isLasting ? 'Active' : 'Terminating' },
  }
}
