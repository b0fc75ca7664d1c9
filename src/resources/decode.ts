import type { Decoded, Problem } from './problem.ts'
import { Reader } from './reader.ts'

/** Marks an object that cannot be used at all; its findings say why. */
export const UNUSABLE: unique symbol = Symbol('unusable')

/** Runs a reading function over an object from the wire. */
export function decode<T>(raw: unknown, read: (object: Reader) => T | typeof UNUSABLE): Decoded<T> {
  const object = Reader.of(raw, 'decode')
  const value = read(object)
  const { all } = object.findings
  return value === UNUSABLE ? { ok: false, problems: all } : { ok: true, value, warnings: all }
}

/** All findings of the checks for an object that is to be written. */
export function validate(
  raw: unknown,
  ...checks: readonly ((object: Reader) => unknown)[]
): readonly Problem[] {
  const object = Reader.of(raw, 'validate')
  for (const check of checks) check(object)
  return object.findings.all
}

/**
 * The same for an object that replaces `old`: what is wrong with `old` and stays as it is, at whatever position of a list,
 * is accepted. So objects from before a rule can still be changed, and get a status.
 */
export function validateSuccessor(
  raw: unknown,
  old: unknown,
  check: (object: Reader) => unknown,
): readonly Problem[] {
  const object = Reader.of(raw, 'validate')
  check(object)
  if (object.findings.all.length === 0) return object.findings.all
  const before = Reader.of(old, 'validate')
  check(before)
  const again = Reader.of(raw, 'validate', before.findings.faults)
  check(again)
  return again.findings.all
}
