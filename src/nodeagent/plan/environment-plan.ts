import { arrayAt, type Json, stringAt, valueAt } from '../../lib/json.ts'

/** One variable: its text before `$(NAME)` is replaced, or the field of the Pod that is its value (`fieldRef`). */
export type EnvironmentEntry =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly field: string }

/** Printable ASCII without `=`. */
const NAME = /^[\x20-\x3c\x3e-\x7e]+$/
const FIELDS: ReadonlySet<string> = new Set([
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.podIP',
  'status.podIPs',
])
const KEYED_FIELD = /^metadata\.(?:labels|annotations)\['[^']+'\]$/

/**
 * Reads `env` of the container at the path `at`. ConfigMaps, Secrets and resources are not supported: each use is added
 * to `faults`, unless it is `optional`.
 */
export function readEnvironment(
  container: Json,
  at: string,
  faults: string[],
): readonly EnvironmentEntry[] {
  if (arrayAt(container, 'envFrom').length > 0) {
    faults.push(`${at}.envFrom: this node agent reads no ConfigMaps and Secrets`)
  }
  return arrayAt(container, 'env').flatMap((entry, index) => {
    return readEntry(entry, `${at}.env[${index}]`, faults)
  })
}

function readEntry(entry: Json, at: string, faults: string[]): readonly EnvironmentEntry[] {
  const name = stringAt(entry, 'name')
  if (!NAME.test(name)) faults.push(`${at}.name must be printable ASCII without "="`)
  const source = valueAt(entry, 'valueFrom')
  if (source === undefined) {
    const value = stringAt(entry, 'value')
    if (value.includes('\0')) faults.push(`${at}.value must not hold a zero byte`)
    return [{ name, value }]
  }
  const field = stringAt(source, 'fieldRef', 'fieldPath')
  if (FIELDS.has(field) || KEYED_FIELD.test(field)) return [{ name, field }]
  if (isOptional(source)) return []
  faults.push(`${at}.valueFrom: this node agent knows fieldRef only, and not every field`)
  return []
}

function isOptional(source: Json): boolean {
  return ['configMapKeyRef', 'secretKeyRef'].some(
    (key) => valueAt(source, key, 'optional') === true,
  )
}
