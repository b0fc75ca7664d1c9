import { type Cidr, type IpAddress, parseCidr, parseIp } from '../lib/ip.ts'
import type { Findings } from './problem.ts'

const NO_ADDRESSES: readonly IpAddress[] = Object.freeze([])

/** The addresses of a list in canonical form, duplicates once; what is none is left out. */
export function readAddresses(
  values: readonly unknown[],
  field: string,
  findings: Findings,
): readonly IpAddress[] {
  if (values.length === 0) return NO_ADDRESSES
  const addresses = values.map((value, index) => readAddress(value, `${field}[${index}]`, findings))
  return [...new Set(addresses.filter((ip) => ip !== undefined))]
}

export function readAddress(
  value: unknown,
  field: string,
  findings: Findings,
): IpAddress | undefined {
  const ip = typeof value === 'string' ? parseIp(value) : undefined
  if (ip === undefined) {
    findings.add(field, value, 'must be an IP address, without leading zeros, zone or blanks')
  }
  return ip
}

/** The networks of a list, blanks around them allowed; what is none is left out. */
export function readCidrs(
  values: readonly unknown[],
  field: string,
  findings: Findings,
): readonly Cidr[] {
  const cidrs = values.map((value, index) => {
    const cidr = typeof value === 'string' ? parseCidr(value.trim()) : undefined
    if (cidr === undefined) {
      findings.add(`${field}[${index}]`, value, 'must be a CIDR such as 10.0.0.0/8 or fd00::/64')
    }
    return cidr
  })
  return [...new Set(cidrs.filter((cidr) => cidr !== undefined))]
}
