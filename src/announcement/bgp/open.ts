import { type Family, formatIp, type IpAddress, ipBytes } from '../../lib/ip.ts'
import { ERROR, type Notification, notification, OPEN_ERROR } from './notification.ts'

/** The content of an OPEN, the first message of a session (RFC 4271, section 4.2). */
export interface Open {
  /** The AS number of the speaker, of four octets (RFC 6793) if it supports them. */
  readonly asn: number
  /** Whether the speaker supports AS numbers of four octets. */
  readonly hasLongASN: boolean
  /** Seconds without a message after which the speaker ends the session; 0: never. */
  readonly holdTime: number
  /** The BGP identifier, as the IPv4 address with its octets. */
  readonly routerID: IpAddress
  /** The families whose unicast routes the speaker exchanges (RFC 4760). */
  readonly families: readonly Family[]
  /** Whether the speaker advertises its routes again on request (RFC 2918). */
  readonly hasRouteRefresh: boolean
}

const VERSION = 4
/** What the field of two octets has in place of an AS number that does not fit into it (RFC 6793). */
export const AS_TRANS = 23_456
/** The octets of the fields before the optional parameters. */
const FIXED = 10
/** The type of the optional parameter with the capabilities (RFC 5492), and the codes of those that are used. */
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
  if (body[0] !== VERSION) {
    return notification(ERROR.open, OPEN_ERROR.version, Uint8Array.of(0, VERSION))
  }
  if (body.length !== FIXED + body[9]!) return MALFORMED
  const capabilities = readCapabilities(body.subarray(FIXED))
  if ('code' in capabilities) return capabilities
  const { longASN, families } = capabilities
  const asn = longASN ?? view.getUint16(1)
  if (asn === 0) return notification(ERROR.open, OPEN_ERROR.peerAS)
  const holdTime = view.getUint16(3)
  if (holdTime === 1 || holdTime === 2) {
    return notification(ERROR.open, OPEN_ERROR.holdTime, body.slice(3, 5))
  }
  if (view.getUint32(5) === 0) return notification(ERROR.open, OPEN_ERROR.identifier)
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
  if (found.some(([type]) => type !== CAPABILITIES)) {
    return notification(ERROR.open, OPEN_ERROR.parameter)
  }
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

/**
 * Splits octets into fields, which are one octet of type, one of length, and the value. Returns type and value of each;
 * undefined if the last field is cut off.
 */
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

/**
 * The family that four octets name: AFI (two), a reserved one, SAFI (RFC 4760, RFC 2918). Undefined for a family that
 * is not exchanged.
 */
export function familyOfCode([high, low, , safi]: Uint8Array): Family | undefined {
  if (high !== 0 || safi !== UNICAST) return undefined
  return low === afi(4) ? 4 : low === afi(6) ? 6 : undefined
}

/** The address family identifier. */
export function afi(family: Family): number {
  return family === 4 ? 1 : 2
}

/** A number as `size` octets in network order. */
export function octetsOf(value: number, size: 2 | 4): readonly number[] {
  const octets = [value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff]
  return octets.slice(4 - size)
}
