import { arrayAt, type JsonObject, objectAt, scalarText, stringAt } from '../../../lib/json.ts'
import { EMPTIED } from '../../../resources/finalizers.ts'
import { NAMESPACE_NAME } from '../../../resources/label-names.ts'
import type { ContainerRules, DeletionRules, NewIdentity } from '../../resource/deletion.ts'

/** The namespaces of the system, which may not be deleted. */
export const LASTING_NAMESPACES: readonly string[] = [
  'default',
  'kube-public',
  'kube-system',
  'orch-system',
]

export const namespaceDeletion: DeletionRules = {
  marked: closedNamespace,
  finalizers: namespaceFinalizers,
  protectedNames: LASTING_NAMESPACES,
  renewed: renewedNamespace,
}

export const namespaceContainer: ContainerRules = {
  isClosed: (fields) => fields['status.phase'] === 'Terminating',
  waitsForContent,
  reportsEmpty,
}

/** `spec.finalizers`: what a namespace waits for, apart from `metadata.finalizers`. */
function namespaceFinalizers(namespace: JsonObject): readonly string[] {
  return arrayAt(namespace, 'spec', 'finalizers').map(scalarText)
}

/** A namespace in which nothing can be created any more, and that waits to be emptied. */
function closedNamespace(namespace: JsonObject): JsonObject {
  const status = { ...objectAt(namespace, 'status'), phase: 'Terminating' }
  return { ...withLifecycleFinalizer(namespace), status }
}

/** Whether only its content keeps a namespace that is marked for deletion. */
function waitsForContent(namespace: JsonObject): boolean {
  const others = namespaceFinalizers(namespace).filter((one) => one !== EMPTIED)
  return others.length === 0 && arrayAt(namespace, 'metadata', 'finalizers').length === 0
}

/** Whether an update takes away the finalizer of the client that empties the namespace. */
function reportsEmpty(next: JsonObject, old: JsonObject): boolean {
  return namespaceFinalizers(old).includes(EMPTIED) && !namespaceFinalizers(next).includes(EMPTIED)
}

/** Finalizers have their own subresource, and only a deletion changes the phase. */
export function keepLifecycle(next: JsonObject, old: JsonObject | undefined): JsonObject {
  if (old === undefined) return withLifecycleFinalizer(next)
  const status = { ...objectAt(next, 'status'), phase: stringAt(old, 'status', 'phase') }
  return { ...withFinalizers(next, namespaceFinalizers(old)), status }
}

/** A namespace that waits, when it is deleted, for the client that empties it. */
function withLifecycleFinalizer(namespace: JsonObject): JsonObject {
  const finalizers = namespaceFinalizers(namespace)
  return withFinalizers(namespace, [...new Set([...finalizers, EMPTIED])])
}

function withFinalizers(namespace: JsonObject, finalizers: readonly string[]): JsonObject {
  return { ...namespace, spec: { ...objectAt(namespace, 'spec'), finalizers: [...finalizers] } }
}

/**
 * No object outlives its namespace: a new one replaces a namespace that cannot be read, and is
 * emptied as any namespace that is being deleted. Those of the system are never deleted.
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
