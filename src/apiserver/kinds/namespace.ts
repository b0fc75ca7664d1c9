import { arrayAt, type JsonObject, objectAt, scalarText, stringAt } from '../../lib/json.ts'
import { EMPTIED } from '../../resources/finalizers.ts'
import type { Resource } from '../resource/resource.ts'
import { ageColumn, nameColumn } from '../table/age.ts'
import { column } from '../table/column.ts'

export const namespaces: Resource = {
  plural: 'namespaces',
  singular: 'namespace',
  kind: 'Namespace',
  shortNames: ['ns'],
  categories: [],
  namespaced: false,
  versions: [{ group: '', version: 'v1' }],
  status: { initial: () => ({ phase: 'Active' }) },
  deletedOneByOne: true,
  createOnUpdate: false,
  updateNeedsVersion: false,
  countsGenerations: false,
  reserved: { subresource: 'finalize', keep },
  fields: (object) => ({ 'status.phase': stringAt(object, 'status', 'phase') }),
  columns: [
    nameColumn,
    column('Status', 'Active, or being deleted.', (object) => stringAt(object, 'status', 'phase')),
    ageColumn,
  ],
}

/** The namespaces of the system, which may not be deleted. */
export const LASTING_NAMESPACES: readonly string[] = [
  'default',
  'kube-public',
  'kube-system',
  'orch-system',
]

/** `spec.finalizers`: what a namespace waits for, apart from `metadata.finalizers`. */
export function namespaceFinalizers(namespace: JsonObject): readonly string[] {
  return arrayAt(namespace, 'spec', 'finalizers').map(scalarText)
}

/** A namespace in which nothing can be created any more, and that waits to be emptied. */
export function closedNamespace(namespace: JsonObject): JsonObject {
  const status = { ...objectAt(namespace, 'status'), phase: 'Terminating' }
  return { ...kept(namespace), status }
}

/** Whether only what is in the namespace keeps it. */
export function waitsToBeEmpty(namespace: JsonObject): boolean {
  const others = namespaceFinalizers(namespace).filter((one) => one !== EMPTIED)
  return others.length === 0 && arrayAt(namespace, 'metadata', 'finalizers').length === 0
}

/** Whether somebody says that the namespace is empty, who so far had to empty it. */
export function claimsToBeEmpty(next: JsonObject, old: JsonObject): boolean {
  return namespaceFinalizers(old).includes(EMPTIED) && !namespaceFinalizers(next).includes(EMPTIED)
}

/** Finalizers have their own subresource, and only a deletion changes the phase. */
function keep(next: JsonObject, old: JsonObject | undefined): JsonObject {
  if (old === undefined) return kept(next)
  const status = { ...objectAt(next, 'status'), phase: stringAt(old, 'status', 'phase') }
  return { ...withFinalizers(next, namespaceFinalizers(old)), status }
}

function kept(namespace: JsonObject): JsonObject {
  const finalizers = namespaceFinalizers(namespace)
  return withFinalizers(namespace, [...new Set([...finalizers, EMPTIED])])
}

function withFinalizers(namespace: JsonObject, finalizers: readonly string[]): JsonObject {
  return { ...namespace, spec: { ...objectAt(namespace, 'spec'), finalizers: [...finalizers] } }
}
