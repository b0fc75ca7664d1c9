import { arrayAt, type Json, stringAt, valueAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { isSubdomain } from '../../resources/names.ts'
import { isPlainField } from './pod-field.ts'
import type { ObjectResource } from './volume-plan.ts'

/**
 * One variable: its text before `$(NAME)` is replaced, the field of the Pod that is its value (`fieldRef`), or the key
 * of a ConfigMap or Secret.
 */
export type EnvironmentEntry =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly field: string }
  | { readonly name: string; readonly reference: KeyReference }

/** A ConfigMap or Secret of the Pod's namespace. */
export interface ObjectReference {
  readonly resource: ObjectResource
  readonly name: string
  /** Whether the container starts without it. */
  readonly isOptional: boolean
}

/** `configMapKeyRef` or `secretKeyRef`. */
interface KeyReference extends ObjectReference {
  readonly key: string
}

/** An entry of `envFrom`: a variable for each key. */
export interface EnvironmentSource extends ObjectReference {
  /** Precedes the names. */
  readonly prefix: string
}

/** Printable ASCII without `=`. */
const NAME = /^[\x20-\x3c\x3e-\x7e]+$/
const KEY_REFERENCES = [
  ['configMapKeyRef', 'configmaps'],
  ['secretKeyRef', 'secrets'],
] as const
const OBJECT_REFERENCES = [
  ['configMapRef', 'configmaps'],
  ['secretRef', 'secrets'],
] as const

/** Whether a text can be the name of a variable. */
export function isVariableName(name: string): boolean {
  return NAME.test(name)
}

/** Reads `env` of the container at the path `at`. What is not supported is added to `faults`. */
export function readEnvironment(
  container: Json,
  at: string,
  faults: string[],
): readonly EnvironmentEntry[] {
  return arrayAt(container, 'env').flatMap((entry, index) => {
    return readEntry(entry, `${at}.env[${index}]`, faults)
  })
}

/** Reads `envFrom` of the container at the path `at`. */
export function readEnvironmentSources(
  container: Json,
  at: string,
  faults: string[],
): readonly EnvironmentSource[] {
  return arrayAt(container, 'envFrom').flatMap((entry, index) => {
    const field = `${at}.envFrom[${index}]`
    const prefix = stringAt(entry, 'prefix')
    if (prefix !== '' && !NAME.test(prefix)) {
      faults.push(`${field}.prefix must be printable ASCII without "=", not ${quote(prefix)}`)
    }
    for (const [key, resource] of OBJECT_REFERENCES) {
      const source = valueAt(entry, key)
      if (source === undefined) continue
      return [{ ...readReference(source, resource, `${field}.${key}`, faults), prefix }]
    }
    faults.push(`${field} must be one of configMapRef and secretRef`)
    return []
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
  if (isPlainField(field)) return [{ name, field }]
  for (const [kind, resource] of KEY_REFERENCES) {
    const found = valueAt(source, kind)
    if (found === undefined) continue
    const path = `${at}.valueFrom.${kind}`
    const key = stringAt(found, 'key')
    if (key === '') faults.push(`${path}.key must not be empty`)
    return [{ name, reference: { ...readReference(found, resource, path, faults), key } }]
  }
  faults.push(
    `${at}.valueFrom: this node agent knows configMapKeyRef, secretKeyRef and fieldRef, and not every field`,
  )
  return []
}

function readReference(
  source: Json,
  resource: ObjectResource,
  at: string,
  faults: string[],
): ObjectReference {
  const name = stringAt(source, 'name')
  if (!isSubdomain(name)) faults.push(`${at}.name must be a name, not ${quote(name)}`)
  return { resource, name, isOptional: valueAt(source, 'optional') === true }
}
