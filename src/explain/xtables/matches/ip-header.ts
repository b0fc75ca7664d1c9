import {
  type Cidr,
  cidrContains,
  formatIp,
  type IpAddress,
  ipBytes,
  parseCidr,
  parseIp,
} from '../../../lib/ip.ts'
import { rangeBetween } from '../../../lib/ip-range.ts'
import type { PacketState } from '../../packet/packet-state.ts'
import type { Answer } from '../model/answer.ts'
import { allOf, type MatchTest } from './match-test.ts'

const PROTOCOL_NUMBERS: Readonly<Record<PacketState['protocol'], string>> = {
  TCP: '6',
  UDP: '17',
  SCTP: '132',
}

/** The options before any `-m`: `-s -d -i -o -p`, and `-f`, which never matches a first packet. */
export const ipHeader: MatchTest = allOf({
  '-s': ([range], { packet }) => containsAddress(range, packet.src),
  '-d': ([range], { packet }) => containsAddress(range, packet.dst),
  '-i': ([name], { packet }) => fitsInterface(name, packet.inInterface),
  '-o': ([name], { packet }) => fitsInterface(name, packet.outInterface),
  '-p': ([name], { packet }) => fitsProtocol(name, packet.protocol),
  '-f': () => false,
})

/** `-m iprange`. */
export const addressRange: MatchTest = allOf({
  '--src-range': ([range], { packet }) => betweenAddresses(range, packet.src),
  '--dst-range': ([range], { packet }) => betweenAddresses(range, packet.dst),
})

/** `10.0.0.0/8`, `10.0.0.0/255.0.0.0` (any mask, also with gaps), or an address. */
export function containsAddress(range: string | undefined, ip: IpAddress): Answer {
  if (range === undefined) return { unknown: 'an address that is missing' }
  const network: Cidr | undefined = parseCidr(range)
  if (network !== undefined) return cidrContains(network, ip)
  const [base, mask] = range.split('/').map((part) => parseIp(part))
  if (base === undefined || mask === undefined) return { unknown: `the address ${range}` }
  const bits = ipBytes(mask)
  const [one, other] = [ipBytes(base), ipBytes(ip)]
  if (one.length !== other.length) return false
  return (
    formatIp(one.map((byte, i) => byte & bits[i]!)) ===
    formatIp(other.map((byte, i) => byte & bits[i]!))
  )
}

/** Matches names and numbers of protocols; `all` and 0 match every protocol. */
export function fitsProtocol(name: string | undefined, protocol: PacketState['protocol']): boolean {
  if (name === 'all' || name === '0') return true
  return name === protocol.toLowerCase() || name === PROTOCOL_NUMBERS[protocol]
}

/** `eth+` matches all names with this beginning. A missing interface has an empty name. */
export function fitsInterface(pattern: string | undefined, name = ''): boolean {
  if (pattern?.endsWith('+')) return name.startsWith(pattern.slice(0, -1))
  return pattern === name
}

function betweenAddresses(range: string | undefined, ip: IpAddress): Answer {
  const [first, last] = (range ?? '').split('-').map((part) => parseIp(part))
  if (first === undefined || last === undefined) return { unknown: `the range ${range}` }
  return rangeBetween(first, last)?.indexOf(ip) !== undefined
}
