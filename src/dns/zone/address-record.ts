import { familyOf, type IpAddress } from '../../lib/ip.ts'
import { RECORD_TTL, type ZoneRecord } from './record.ts'

/** The A or AAAA record of an address. */
export function addressRecord(name: string, ip: IpAddress): ZoneRecord {
  return { name, type: addressType(ip), ttl: RECORD_TTL, data: ip }
}

/** The type of record that holds an address of this family. */
export function addressType(ip: IpAddress): 'A' | 'AAAA' {
  return familyOf(ip) === 4 ? 'A' : 'AAAA'
}
