import { type Cidr, type IpAddress, parseCidr, parseIp } from '../lib/ip.ts'
import { parseLegacyCidr, parseLegacyIp } from '../lib/legacy-address.ts'
import { isSpecialAddress } from '../lib/special-address.ts'
import type { Fault } from './problem.ts'
import { present, type Reader } from './reader.ts'

const LEFT_OUT = 'it is left out'
const READ_AS_DECIMAL = 'its numbers are read as decimal'

/** Records what is wrong with a value, and what a node does instead. */
export type Note = (wrong: string | Fault, instead: string) => void

/**
 * The address in a value: any address, or one that packets of a network may carry (`host`). Leading zeros are recorded
 * and read as decimal; any other value is recorded and gives undefined.
 */
export function readAddress(
  value: unknown,
  kind: 'any' | 'host',
  note: Note,
  unusable = LEFT_OUT,
): IpAddress | undefined {
  const text = typeof value === 'string' ? value : ''
  const strict = parseIp(text)
  const ip = strict ?? parseLegacyIp(text)
  if (ip === undefined || (kind === 'host' && isSpecialAddress(ip))) {
    note(ip === undefined ? ADDRESS_FAULT : SPECIAL_FAULT, unusable)
    return undefined
  }
  if (strict === undefined) note({ legacyAddress: ip }, READ_AS_DECIMAL)
  return ip
}

/** The network in a value, read like an address; surrounding blanks are allowed. */
export function readCidr(value: unknown, note: Note, unusable = LEFT_OUT): Cidr | undefined {
  const text = typeof value === 'string' ? value.trim() : ''
  const strict = parseCidr(text)
  if (strict !== undefined) return strict
  const cidr = parseLegacyCidr(text)
  if (cidr === undefined) note(CIDR_FAULT, unusable)
  else note({ legacyAddress: cidr }, READ_AS_DECIMAL)
  return cidr
}

/** The host addresses of a list, each once; all other items are left out. */
export function readHostAddresses(object: Reader, key: string): readonly IpAddress[] {
  const addresses = new Set<IpAddress>()
  for (const [index, value] of object.list(key).entries()) {
    const ip = readAddress(value, 'host', (wrong, instead) => {
      object.refuseItem(key, index, wrong, instead)
    })
    if (ip !== undefined) addresses.add(ip)
  }
  return present(addresses)
}

/** The networks of a list, each once, with surrounding blanks allowed; all other items are left out. */
export function readCidrs(object: Reader, key: string): readonly Cidr[] {
  const cidrs = new Set<Cidr>()
  for (const [index, value] of object.list(key).entries()) {
    const cidr = readCidr(value, (wrong, instead) => object.refuseItem(key, index, wrong, instead))
    if (cidr !== undefined) cidrs.add(cidr)
  }
  return present(cidrs)
}

const ADDRESS_FAULT =
  'must be an IP address such as 10.0.0.1 or fd00::1, without leading zeros, zone or blanks'
const SPECIAL_FAULT =
  'must not be unspecified, loopback, link-local, multicast, broadcast or IPv4-mapped; use the address of a network'
export const CIDR_FAULT =
  'must be a network such as 10.0.0.0/8 or fd00::/64, without leading zeros or zone'
