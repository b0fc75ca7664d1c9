import type { NodeWriteRule } from '../../../auth/node/node-writes.ts'
import { stringAt } from '../../../lib/json.ts'
import {
  isLabel,
  isLabelValue,
  isPathSegment,
  isQualifiedName,
  isSubdomain,
} from '../../../resources/names.ts'
import { isIntegerIn } from '../../../resources/port.ts'
import type { Fault } from '../../../resources/problem.ts'
import { canonicalQuantity } from '../../../resources/quantity.ts'
import { isSameValue, ownField, type Raw, type Reader } from '../../../resources/reader.ts'
import type { WriterCheck } from '../../resource/resource.ts'
import { forbidden } from '../../status/status.ts'
import { changePresent } from './edit.ts'

const FROZEN = { forbidden: 'field is immutable when `immutable` is set' }
const FIXED = 'field is immutable; delete the object and create it again'

/** A field that may be absent or empty, and otherwise must be one of these. */
export function checkOneOf(object: Reader, key: string, values: readonly string[]): void {
  checkField(object, key, (value) => values.some((one) => one === value), { supported: values })
}

/** A field that may be absent or empty, and otherwise must be a DNS label. */
export function checkLabel(object: Reader, key: string): void {
  checkField(object, key, (value) => typeof value === 'string' && isLabel(value), LABEL_FAULT)
}

/** A field that may be absent or empty, and otherwise must be a DNS subdomain. */
export function checkSubdomain(object: Reader, key: string): void {
  checkField(object, key, (value) => typeof value === 'string' && isSubdomain(value), DNS_FAULT)
}

/** The name of another object, which must be given. */
export function checkName(object: Reader, form: 'subdomain' | 'segment', key = 'name'): void {
  const value = object.value(key)
  const isName = form === 'segment' ? isPathSegment : isSubdomain
  if (typeof value !== 'string' || !isName(value)) object.refuse(key, NAME_FAULT)
}

/** The application protocol of a port, such as `http` or `kubernetes.io/h2c`. */
export function checkAppProtocol(port: Reader): void {
  const isName = (value: unknown) => typeof value === 'string' && isQualifiedName(value)
  checkField(port, 'appProtocol', isName, APP_PROTOCOL_FAULT)
}

/** A list of strings, which may be absent. @returns whether it has items */
export function checkTexts(object: Reader, key: string): boolean {
  const texts = object.list(key)
  for (const [index, text] of texts.entries()) {
    if (typeof text !== 'string') object.refuseItem(key, index, 'must be a string')
  }
  return texts.length > 0
}

/** A list of at most `most` items, which may be absent. */
export function checkItemCount(object: Reader, key: string, most: number): void {
  if (object.list(key).length > most) object.refuse(key, `must have at most ${most} items`)
}

/** A field that may be absent, and otherwise must be an integer from `least` to the largest int32. */
export function checkInteger(object: Reader, key: string, least: number): void {
  const isValid = (value: unknown): boolean => isInt32From(value, least)
  checkField(object, key, isValid, `must be an integer of at least ${least}`)
}

/** Whether a value is an int32 of at least `least`. */
export function isInt32From(value: unknown, least: number): value is number {
  return isIntegerIn(value, least, 2 ** 31 - 1)
}

const PERCENTAGE = /^\d{1,3}%$/
const SHARE_FAULT = 'must be a count of pods or a share such as 25%'

/** A field that may be absent, and otherwise is a number of Pods or a share of them. */
export function checkCountOrPercentage(object: Reader, key: string): void {
  checkField(object, key, isCountOrPercentage, SHARE_FAULT)
}

/** The same for a field whose share is at most 100 %. */
export function checkCountOrPart(object: Reader, key: string): void {
  const isValid = (value: unknown): boolean =>
    isCountOrPercentage(value) && !(typeof value === 'string' && Number.parseInt(value, 10) > 100)
  checkField(object, key, isValid, `${SHARE_FAULT}, at most 100%`)
}

function isCountOrPercentage(value: unknown): boolean {
  return isInt32From(value, 0) || (typeof value === 'string' && PERCENTAGE.test(value))
}

/** Whether a count of Pods, or a share of them, is zero. */
export function isNoPods(value: unknown): boolean {
  return value === 0 || (typeof value === 'string' && /^0{1,3}%$/.test(value))
}

/** A field that may be absent or empty, and otherwise must pass a test. */
export function checkField(
  object: Reader,
  key: string,
  test: (value: unknown) => boolean,
  fault: string | Fault,
): void {
  const value = object.value(key)
  if (value !== undefined && value !== '' && !test(value)) object.refuse(key, fault)
}

export const TAINT_EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']
const TAINT_KEY_FAULT = 'must be the key of a taint, such as example.com/dedicated'
const TAINT_VALUE_FAULT = 'must be the value of a taint: at most 63 of A-Z, a-z, 0-9, -, _ and .'

/** The key of a taint or toleration, which may be absent. */
export function checkTaintKey(object: Reader): void {
  const isKey = (value: unknown): boolean => typeof value === 'string' && isQualifiedName(value)
  checkField(object, 'key', isKey, TAINT_KEY_FAULT)
}

/** The value of a taint or toleration, which may be absent. */
export function checkTaintValue(object: Reader): void {
  const isValue = (value: unknown): boolean => typeof value === 'string' && isLabelValue(value)
  checkField(object, 'value', isValue, TAINT_VALUE_FAULT)
}

/** The rules of Kubernetes for `tolerations`. */
export function checkTolerations(object: Reader): void {
  for (const toleration of object.objects('tolerations')) {
    checkTaintKey(toleration)
    checkOneOf(toleration, 'operator', ['Equal', 'Exists'])
    checkOneOf(toleration, 'effect', TAINT_EFFECTS)
    const isForAny = toleration.value('operator') === 'Exists'
    if (!isForAny) checkTaintValue(toleration)
    else if ((toleration.value('value') ?? '') !== '') {
      toleration.refuse('value', 'must be absent when operator is Exists')
    }
    if (!isForAny && (toleration.value('key') ?? '') === '') {
      toleration.refuse('operator', 'must be Exists when there is no key')
    }
    const isTimed = toleration.value('tolerationSeconds') !== undefined
    if (isTimed && toleration.value('effect') !== 'NoExecute') {
      toleration.refuse('effect', 'must be NoExecute when there are tolerationSeconds')
    }
  }
}

/** The messages of invalid names. */
export const LABEL_FAULT = 'must be a DNS label: at most 63 of a-z, 0-9 and -, such as my-name'
const APP_PROTOCOL_FAULT = 'must be a qualified name such as http or example.com/my-protocol'
const NAME_FAULT = 'must be the name of an object'
export const DNS_FAULT = 'must be a DNS name in lower case, such as db.example.com'

/** Rejects changes of the data of a ConfigMap or Secret with `immutable: true`, and of that field. */
export function checkImmutableData(next: Reader, old: Reader): void {
  if (old.value('immutable') !== true) return
  if (next.value('immutable') !== true) next.refuse('immutable', FROZEN)
  for (const key of ['data', 'binaryData']) {
    if (!isSameValue(next.value(key) ?? {}, old.value(key) ?? {})) next.withhold(key, FROZEN)
  }
}

/** Rejects a change of a field. */
export function checkUnchanged(next: Reader, old: Reader, key: string): void {
  if (!isSameValue(next.value(key), old.value(key))) next.refuse(key, FIXED)
}

/** The maps of quantities at these keys, each in canonical form. */
export function writeQuantities(object: Raw, keys: readonly string[]): Raw {
  return keys.reduce((all, key) => changePresent(all, key, writeAll), object)
}

/** The quantity at `key`, if there is one. */
export function writeQuantity(object: Raw, key: string): Raw {
  const value = ownField(object, key)
  return value === undefined ? object : { ...object, [key]: canonicalQuantity(value) }
}

function writeAll(amounts: Raw): Raw {
  const entries = Object.entries(amounts).map(([key, value]) => [key, canonicalQuantity(value)])
  return Object.fromEntries(entries) as Raw
}

/** 403 for objects that node agents may not write. */
export function nodeRule(rule: NodeWriteRule, plural: string, group: string): WriterCheck {
  return ({ user }, next, old) => {
    const why = rule(user, next, old)
    const name = stringAt(next, 'metadata', 'name')
    return why === undefined ? undefined : forbidden({ plural, group, name }, why)
  }
}

/** The maximum number of ports, as in Kubernetes. */
const MAX_PORTS = 20_000

/** The rules between endpoint ports, and for each port. */
export function checkEndpointPorts(object: Reader, { mayBeAny }: { mayBeAny: boolean }): void {
  const ports = object.objects('ports')
  checkItemCount(object, 'ports', MAX_PORTS)
  const names = new Set<unknown>()
  for (const port of ports) {
    const name = port.value('name') ?? ''
    if (names.has(name)) port.refuse('name', 'must differ from the names of the other ports')
    names.add(name)
    checkAppProtocol(port)
    if (!mayBeAny && port.value('port') === undefined) {
      port.refuse('port', 'must be an integer from 1 to 65535')
    }
  }
}
