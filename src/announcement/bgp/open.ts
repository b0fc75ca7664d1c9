import { type Family, formatIp, type IpAddress, ipBytes } from '../../lib/ip.ts'
import { ERROR, type Notification, notification } from './notification.ts'

/** The content of an OPEN, the first message of a session (RFC 4271, section 4.2). */
export interface Open {
  /** The AS number of the speaker, of four octets (RFC 6793) if it supports them. */
  readonly asn: number
  /** Whether the speaker supports AS numbers of four octets. */
  readonly hasLongASN: boolean
  /** Seconds without a message after which it ends the session; 0: never. */
  readonly holdTime: number
  /** The BGP identifier, as the IPv4 address with its octets. */
  readonly routerID: IpAddress
  /** The families of routes that it exchanges (RFC 4760), unicast. */
  readonly families: readonly Family[]
  /** Whether it advertises routes again when it is requested to (RFC 2918). */
  readonly hasRouteRefresh: boolean
}

const VERSION = 4
/** Stands for an AS number that does not fit into two octets. */
export const AS_TRANS = 23_456
/** The octets of the fields before the optional parameters. */
const FIXED = 10
const CAPABILITIES = 2
const CAPABILITY = { multiprotocol: 1, routeRefresh: 2, longASN: 65 } as const
/** The subsequent address family identifier of the routes that are exchanged. */
export const UNICAST = 1
const MALFORMED = notification(ERROR.open)

export function encodeOpen(open: Open): Uint8Array {
  const capabilities = [
    ...open.families.flatMap((family) => [CAPABILITY.multiprotocol, 4, 0, afi(family), 0, UNICAST]),
    ...(open.hasRouteRefresh ? [CAPABILITY.routeRefresh, 0] : []),
    ...(open.hasLongASN ? [CAPABILITY.longASN, 4, ...octetsOf(open.asn, 4)] : []),
  ]
  const short = open.asn > 0xff_ff ? AS_TRANS : open.asn
  const parameters =
    capabilities.length === 0 ? [] : [CAPABILITIES, capabilities.length, ...capabilities]
  return Uint8Array.from([
    VERSION,
    ...octetsOf(short, 2),
    ...octetsOf(open.holdTime, 2),
    ...ipBytes(open.routerID),
    parameters.length,
    ...parameters,
  ])
}

/** Reads the body of an OPEN, of at least ten octets; if it is wrong, returns the NOTIFICATION for the peer. */
export function decodeOpen(body: Uint8Array): Open | Notification {
  const view = new DataView(body.buffer, body.byteOffset, body.length)
  if (body[0] !== VERSION) return notification(ERROR.open, 1, Uint8Array.of(0, VERSION))
  if (body.length !== FIXED + body[9]!) return MALFORMED
  const capabilities = readCapabilities(body.subarray(FIXED))
  if ('code' in capabilities) return capabilities
  const { longASN, families } = capabilities
  const asn = longASN ?? view.getUint16(1)
  if (asn === 0) return notification(ERROR.open, 2)
  const holdTime = view.getUint16(3)
  if (holdTime === 1 || holdTime === 2) {
    return notification(ERROR.open, 6, body.slice(3, 5))
  }
  if (view.getUint32(5) === 0) return notification(ERROR.open, 3)
  return {
    asn,
    hasLongASN: longASN !== undefined,
    holdTime,
    routerID: formatIp(body.subarray(5, 9)),
    // A speaker that names no family exchanges IPv4 alone.
    families: families ?? [4],
    hasRouteRefresh: capabilities.hasRouteRefresh,
  }
}

interface Capabilities {
  readonly longASN?: number
  readonly families?: readonly Family[]
  readonly hasRouteRefresh: boolean
}

function readCapabilities(parameters: Uint8Array): Capabilities | Notification {
  const found = fieldsOf(parameters)
  if (found === undefined) return MALFORMED
  if (found.some(([type]) => type !== CAPABILITIES)) return notification(ERROR.open, 4)
  let longASN: number | undefined
  let families: readonly (Family | undefined)[] | undefined
  let hasRouteRefresh = false
  for (const [, value] of found) {
    const capabilities = fieldsOf(value)
    if (capabilities === undefined) return MALFORMED
    for (const [code, data] of capabilities) {
      if (code === CAPABILITY.routeRefresh) hasRouteRefresh = true
      if (code !== CAPABILITY.multiprotocol && code !== CAPABILITY.longASN) continue
      if (data.length !== 4) return MALFORMED
      if (code === CAPABILITY.multiprotocol) families = [...(families ?? []), familyOfCode(data)]
      else longASN = new DataView(data.buffer, data.byteOffset).getUint32(0)
    }
  }
  return {
    ...(longASN !== undefined && { longASN }),
    ...(families && { families: [...new Set(families)].filter((one) => one !== undefined) }),
    hasRouteRefresh,
  }
}

/** Fields of a type, a length and a value, one octet each but for the value; undefined if the last one is cut off. */
function fieldsOf(octets: Uint8Array): readonly (readonly [number, Uint8Array])[] | undefined {
  const fields: (readonly [number, Uint8Array])[] = []
  for (let at = 0; at < octets.length; ) {
    const end = at + 2 + (octets[at + 1] ?? octets.length)
    if (end > octets.length) return undefined
    fields.push([octets[at]!, octets.subarray(at + 2, end)])
    at = end
  }
  return fields
}

/** The family of AFI, a reserved octet and SAFI (RFC 4760, RFC 2918); undefined: one that is not exchanged. */
export function familyOfCode([high, low, , safi]: Uint8Array): Family | undefined {
  if (high !== 0 || safi !== UNICAST) return undefined
  return low === afi(4) ? 4 : low === afi(6) ? 6 : undefined
}

/** The address family identifier. */
export function afi(family: Family): number {
  return family === 4 ? 1 : 2
}

/** A number as so many octets, in network order. */
export function octetsOf(value: number, size: 2 | 4): readonly number[] {
  const octets = [value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff]
  return octets.slice(4 - size)
}
