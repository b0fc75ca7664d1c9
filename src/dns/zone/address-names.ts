import { familyOf, formatIp, type IpAddress } from '../../lib/ip.ts'
import { RECORD_TTL, type ZoneRecord } from './record.ts'

const V4_ZONE = '.in-addr.arpa'
const V6_ZONE = '.ip6.arpa'
const V4_BYTES = 4
const V6_NIBBLES = 32
const DECIMAL_BYTE = /^(?:0|[1-9]\d{0,2})$/
const NIBBLE = /^[0-9a-f]$/
const MAX_BYTE = 255

/** The name of an endpoint without hostname: its address with dashes, as in `10-0-0-7` and `fd00--7`. */
export function dashedAddress(ip: IpAddress): string {
  const dashed = ip.replaceAll(/[.:]/g, '-')
  // A label must neither begin nor end with a dash.
  return dashed.replace(/^-/, '0-').replace(/-$/, '-0')
}

/** The address whose PTR records are under this name (RFC 1035 §3.5, RFC 3596 §2.5); undefined for any other name. */
export function addressOfReverseName(name: string): IpAddress | undefined {
  if (name.endsWith(V4_ZONE)) return v4Of(name.slice(0, -V4_ZONE.length).split('.'))
  if (name.endsWith(V6_ZONE)) return v6Of(name.slice(0, -V6_ZONE.length).split('.'))
  return undefined
}

function v4Of(labels: readonly string[]): IpAddress | undefined {
  const valid = labels.every((label) => DECIMAL_BYTE.test(label) && Number(label) <= MAX_BYTE)
  if (labels.length !== V4_BYTES || !valid) return undefined
  return formatIp(Uint8Array.from(labels.toReversed(), Number))
}

function v6Of(labels: readonly string[]): IpAddress | undefined {
  if (labels.length !== V6_NIBBLES || !labels.every((label) => NIBBLE.test(label))) return undefined
  return formatIp(Uint8Array.fromHex(labels.toReversed().join('')))
}

/** The A or AAAA record of an address. */
export function addressRecord(name: string, ip: IpAddress): ZoneRecord {
  return { name, type: addressType(ip), ttl: RECORD_TTL, data: ip }
}

/** The type of record that holds an address of this family. */
export function addressType(ip: IpAddress): 'A' | 'AAAA' {
  return familyOf(ip) === 4 ? 'A' : 'AAAA'
}
