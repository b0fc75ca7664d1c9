import { type Family, type IpAddress, ipBytes } from '../../lib/ip.ts'
import { ERROR, type Notification, notification } from './notification.ts'
import { AS_TRANS, afi, octetsOf, UNICAST } from './open.ts'

/** What routers learn of a route. */
export interface RouteAttributes {
  readonly nextHop: IpAddress
  /** Communities (`65000:1`, RFC 1997) and large communities (`65000:1:2`, RFC 8092), as `parseCommunity` reads them. */
  readonly communities: readonly string[]
}

/** What of a session decides how its routes are encoded. */
export interface UpdateContext {
  readonly localASN: number
  /** Whether the peer is of the same AS. */
  readonly isInternal: boolean
  /** Whether the peer has AS numbers of four octets. */
  readonly hasLongASN: boolean
}

/** What the bodies of UPDATEs have in common: the family of their routes, and how long each may be. */
interface BodyLimits {
  readonly family: Family
  readonly maxOctets: number
}

/** Flags of path attributes; well-known ones are transitive. */
const WELL_KNOWN = 0x40
const OPTIONAL = 0x80
const OPTIONAL_TRANSITIVE = 0xc0
const EXTENDED = 0x10
const TYPE = {
  origin: 1,
  asPath: 2,
  nextHop: 3,
  localPref: 5,
  communities: 8,
  mpReach: 14,
  mpUnreach: 15,
  as4Path: 17,
  largeCommunities: 32,
} as const
const AS_SEQUENCE = 2
/** The preference that routers use inside an AS by default. */
const LOCAL_PREF = 100
const WELL_KNOWN_COMMUNITIES: ReadonlyMap<string, readonly number[]> = new Map([
  ['graceful-shutdown', [0xff_ff, 0]],
  ['blackhole', [0xff_ff, 666]],
  ['no-export', [0xff_ff, 0xff_01]],
  ['no-advertise', [0xff_ff, 0xff_02]],
])

/** The numbers of a community: two of two octets, or three of four; undefined if it is none. */
export function parseCommunity(text: string): readonly number[] | undefined {
  const known = WELL_KNOWN_COMMUNITIES.get(text)
  if (known !== undefined) return known
  if (!/^(0|[1-9][0-9]{0,9})(:(0|[1-9][0-9]{0,9})){1,2}$/.test(text)) return undefined
  const numbers = text.split(':').map(Number)
  const greatest = numbers.length === 2 ? 0xff_ff : 0xff_ff_ff_ff
  return numbers.every((number) => number <= greatest) ? numbers : undefined
}

/** The bodies of UPDATEs that announce host routes of one family. */
export function announcements(
  ips: readonly IpAddress[],
  attributes: RouteAttributes,
  context: UpdateContext,
  { family, maxOctets }: BodyLimits,
): readonly Uint8Array[] {
  const nextHop = [...ipBytes(attributes.nextHop)]
  if (family === 4) {
    const hop = attribute(WELL_KNOWN, TYPE.nextHop, nextHop)
    const all = attributesWith(hop, attributes, context)
    const head = [...octetsOf(0, 2), ...octetsOf(all.length, 2), ...all]
    return packPrefixes(ips, maxOctets - head.length).map((nlri) =>
      Uint8Array.from([...head, ...nlri]),
    )
  }
  const others = attributesWith([], attributes, context)
  const reach = [...octetsOf(afi(6), 2), UNICAST, nextHop.length, ...nextHop, 0]
  const rest = maxOctets - others.length - reach.length - MP_OVERHEAD
  return packPrefixes(ips, rest).map((nlri) => {
    const mpReach = attribute(OPTIONAL | EXTENDED, TYPE.mpReach, [...reach, ...nlri])
    return withAttributes([...mpReach, ...others])
  })
}

/** The bodies of UPDATEs that withdraw host routes of one family. */
export function withdrawals(
  ips: readonly IpAddress[],
  { family, maxOctets }: BodyLimits,
): readonly Uint8Array[] {
  if (family === 4) {
    return packPrefixes(ips, maxOctets - 4).map((nlri) =>
      Uint8Array.from([...octetsOf(nlri.length, 2), ...nlri, 0, 0]),
    )
  }
  const head = [...octetsOf(afi(6), 2), UNICAST]
  return packPrefixes(ips, maxOctets - head.length - MP_OVERHEAD).map((nlri) =>
    withAttributes(attribute(OPTIONAL | EXTENDED, TYPE.mpUnreach, [...head, ...nlri])),
  )
}

/** Octets of the two lengths of an UPDATE, and of the head of an attribute with a length of two octets. */
const MP_OVERHEAD = 4 + 4

function withAttributes(attributes: readonly number[]): Uint8Array {
  return Uint8Array.from([0, 0, ...octetsOf(attributes.length, 2), ...attributes])
}

/** The attributes in the order of their types, with the attribute NEXT_HOP; empty: MP_REACH_NLRI has the next hop. */
function attributesWith(
  nextHop: readonly number[],
  { communities }: RouteAttributes,
  context: UpdateContext,
): readonly number[] {
  const { localASN, isInternal, hasLongASN } = context
  const path = (asn: number, size: 2 | 4) =>
    isInternal ? [] : [AS_SEQUENCE, 1, ...octetsOf(asn, size)]
  const isTranslated = !hasLongASN && localASN > 0xff_ff
  const asPath = hasLongASN ? path(localASN, 4) : path(isTranslated ? AS_TRANS : localASN, 2)
  const numbers = [...new Set(communities)].flatMap((text) => {
    const parsed = parseCommunity(text)
    return parsed === undefined ? [] : [parsed]
  })
  const ofSize = (count: number, size: 2 | 4) =>
    numbers
      .filter(({ length }) => length === count)
      .flatMap((parts) => parts.flatMap((part) => octetsOf(part, size)))
  const large = ofSize(3, 4)
  const plain = ofSize(2, 2)
  return [
    ...attribute(WELL_KNOWN, TYPE.origin, [0]),
    ...attribute(WELL_KNOWN, TYPE.asPath, asPath),
    ...nextHop,
    ...(isInternal ? attribute(WELL_KNOWN, TYPE.localPref, octetsOf(LOCAL_PREF, 4)) : []),
    ...(plain.length > 0 ? attribute(OPTIONAL_TRANSITIVE, TYPE.communities, plain) : []),
    ...(isTranslated && !isInternal
      ? attribute(OPTIONAL_TRANSITIVE, TYPE.as4Path, path(localASN, 4))
      : []),
    ...(large.length > 0 ? attribute(OPTIONAL_TRANSITIVE, TYPE.largeCommunities, large) : []),
  ]
}

/** A path attribute; the extended length where it needs or has it. */
function attribute(flags: number, type: number, value: readonly number[]): readonly number[] {
  const isExtended = value.length > 0xff || (flags & EXTENDED) !== 0
  const length = isExtended ? octetsOf(value.length, 2) : [value.length]
  return [flags | (isExtended ? EXTENDED : 0), type, ...length, ...value]
}

/** Host routes as prefixes, in lists of at most so many octets. */
function packPrefixes(ips: readonly IpAddress[], octets: number): readonly (readonly number[])[] {
  const parts: number[][] = []
  for (const ip of ips) {
    const bytes = ipBytes(ip)
    const last = parts.at(-1)
    const prefix = [bytes.length * 8, ...bytes]
    if (last !== undefined && last.length + prefix.length <= octets) last.push(...prefix)
    else parts.push(prefix)
  }
  return parts
}

/**
 * Checks an UPDATE of at least four octets as far as its faults end the session; returns the NOTIFICATION for the peer if
 * there is one. By RFC 7606 other faults of attributes concern only the routes in this UPDATE, and no route is used.
 */
export function checkUpdate(body: Uint8Array): Notification | undefined {
  const view = new DataView(body.buffer, body.byteOffset, body.length)
  const attributesAt = 4 + view.getUint16(0)
  if (attributesAt > body.length) return notification(ERROR.update, 1)
  const routesAt = attributesAt + view.getUint16(attributesAt - 2)
  if (routesAt > body.length) return notification(ERROR.update, 1)
  if (hasMpTwice(body.subarray(attributesAt, routesAt))) return notification(ERROR.update, 1)
  const routes = [body.subarray(2, attributesAt - 2), body.subarray(routesAt)]
  return routes.every(arePrefixes) ? undefined : notification(ERROR.update, 10)
}

/** Whether MP_REACH_NLRI or MP_UNREACH_NLRI is there twice (RFC 7606, section 3 g). */
function hasMpTwice(octets: Uint8Array): boolean {
  const seen = new Set<number>()
  let at = 0
  while (at + 2 < octets.length) {
    const [flags = 0, type = 0, high = 0, low = 0] = octets.subarray(at, at + 4)
    const isMp = type === TYPE.mpReach || type === TYPE.mpUnreach
    if (isMp && seen.has(type)) return true
    seen.add(type)
    at += (flags & EXTENDED) === 0 ? 3 + high : 4 + high * 0x1_00 + low
  }
  return false
}

/** Whether these are whole IPv4 prefixes. */
function arePrefixes(octets: Uint8Array): boolean {
  let at = 0
  while (at < octets.length) {
    const bits = octets[at]!
    if (bits > 32) return false
    at += 1 + Math.ceil(bits / 8)
  }
  return at === octets.length
}
