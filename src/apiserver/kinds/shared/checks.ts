import { isIntegerIn } from '../../../resources/integer.ts'
import { isLabel, isPathSegment, isQualifiedName, isSubdomain } from '../../../resources/names.ts'
import type { Fault } from '../../../resources/problem.ts'
import type { Reader } from '../../../resources/reader.ts'

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

/** The name of another object, which must be there. */
export function checkName(object: Reader, form: 'subdomain' | 'segment', key = 'name'): void {
  const value = object.value(key)
  const isName = form === 'segment' ? isPathSegment : isSubdomain
  if (typeof value !== 'string' || !isName(value)) object.refuse(key, NAME_FAULT)
}

/** Which protocol an application speaks on a port: `http`, `kubernetes.io/h2c`. */
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
export function isInt32From(value: unknown, least: number): boolean {
  return isIntegerIn(value, least, 2 ** 31 - 1)
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

/** The messages of invalid names. */
export const LABEL_FAULT = 'must be a DNS label: at most 63 of a-z, 0-9 and -, such as my-name'
const APP_PROTOCOL_FAULT = 'must be a qualified name such as http or example.com/my-protocol'
const NAME_FAULT = 'must be the name of an object'
export const DNS_FAULT = 'must be a DNS name in lower case, such as db.example.com'
