import { readMetadata } from '../../../resources/metadata.ts'
import { isSubdomain, NAMES, TOKEN_SECRET_TYPES } from '../../../resources/names.ts'
import { isRaw } from '../../../resources/raw.ts'
import type { Reader } from '../../../resources/reader.ts'
import { checkData, checkDataSize, isReadable } from '../shared/data-map.ts'
import { checkImmutableData, checkUnchanged } from '../shared/immutable.ts'
import { SECRET_TYPES, type SecretType } from './types.ts'

/** A Secret in stored form. No problem with it shows any of its values. */
export function checkSecret(object: Reader): void {
  const metadata = readMetadata(object, { namespaced: true, name: 'subdomain' })
  object.flag('immutable')
  checkDataSize(object, checkData(object, 'data', 'base64'))
  checkData(object, 'stringData', 'text')
  const type = object.text('type') ?? ''
  if (metadata !== undefined && TOKEN_SECRET_TYPES.includes(type)) {
    checkAccountName(metadata.annotations, type)
  }
  const rules = SECRET_TYPES.get(type)
  if (rules !== undefined && isReadable(object, 'data')) checkKeys(object.map('data'), rules)
}

/**
 * Two annotations with different names would let each program take the token for another account's. A missing
 * one is named in the brand of the type.
 */
function checkAccountName(annotations: Reader, type: string): void {
  const present = NAMES.serviceAccount.filter((name) => annotations.value(name) !== undefined)
  const ofType = NAMES.serviceAccount.find((name) => brandOf(name) === brandOf(type))
  const [first = ofType ?? NAMES.serviceAccount[0], ...others] = present
  const account = annotations.value(first)
  if (typeof account !== 'string' || !isSubdomain(account)) {
    annotations.refuse(first, 'must name the ServiceAccount of the token')
  }
  for (const other of others.filter((name) => annotations.value(name) !== account)) {
    annotations.refuse(other, `must name the same ServiceAccount as ${first}`)
  }
}

/** Such as `kubernetes.io`. */
function brandOf(name: string): string {
  return name.slice(0, name.indexOf('/'))
}

function checkKeys(data: Reader, { keys, any, json }: SecretType): void {
  const missing = keys.filter((key) => data.value(key) === undefined)
  const isComplete = any ? missing.length < keys.length : missing.length === 0
  if (!isComplete) {
    for (const key of missing) data.refuse(key, 'must be given in a Secret of this type')
  }
  if (!json) return
  for (const key of keys.filter((one) => !missing.includes(one))) {
    if (!isJsonText(data.value(key))) data.withhold(key, 'must be a JSON object, as base64')
  }
}

function isJsonText(value: unknown): boolean {
  try {
    return typeof value === 'string' && isRaw(JSON.parse(Buffer.from(value, 'base64').toString()))
  } catch {
    return false
  }
}

/** The type is fixed, and the data of a Secret that was declared immutable. */
export function checkSecretUpdate(next: Reader, old: Reader): void {
  checkUnchanged(next, old, 'type')
  checkImmutableData(next, old)
}
