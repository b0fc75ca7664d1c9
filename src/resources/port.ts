import { isLabel } from './names.ts'
import type { Findings } from './problem.ts'
import type { Protocol } from './types.ts'

const PROTOCOLS: ReadonlySet<unknown> = new Set<Protocol>(['TCP', 'UDP', 'SCTP'])

export function isPort(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535
}

/** A required port; undefined, with a finding, when it is not one. */
export function readPort(value: unknown, field: string, findings: Findings): number | undefined {
  if (isPort(value)) return value
  findings.add(field, value, 'must be an integer from 1 to 65535')
  return undefined
}

/** A port that may be absent or 0. */
export function readOptionalPort(value: unknown, field: string, findings: Findings): number {
  if (value === undefined || value === null || value === 0) return 0
  return readPort(value, field, findings) ?? 0
}

/** Absent means TCP. */
export function readProtocol(
  value: unknown,
  field: string,
  findings: Findings,
): Protocol | undefined {
  if (value === undefined || value === null || value === '') return 'TCP'
  if (PROTOCOLS.has(value)) return value as Protocol
  findings.add(field, value, 'must be TCP, UDP or SCTP')
  return undefined
}

/** Absent means unnamed. */
export function readPortName(
  value: unknown,
  field: string,
  findings: Findings,
): string | undefined {
  if (value === undefined || value === null || value === '') return ''
  if (typeof value === 'string' && isLabel(value)) return value
  findings.add(field, value, 'must be a DNS label (RFC 1123) or absent')
  return undefined
}
