import { type Cidr, cidrContains, type IpAddress, parseCidr, parseIp } from '../../../lib/ip.ts'
import { rangeBetween } from '../../../lib/ip-range.ts'

/** The values of a packet for one dimension of a set, as the rule's `src` or `dst` selects them. */
export interface SetSide {
  readonly ip: IpAddress
  /** Undefined means any ephemeral port. */
  readonly port: number | undefined
  readonly interfaceName: string | undefined
}

/** The packet in the form of a set lookup: one side for each dimension. */
export interface SetLookup {
  readonly protocol: string
  readonly mark: number
  readonly sides: readonly SetSide[]
}

/** An element as listed. */
export interface SetElement {
  /** `10.96.0.1,tcp:80`. */
  readonly text: string
  readonly parts: readonly string[]
  /** Whether it excludes its addresses from a wider network of the set. */
  readonly isException: boolean
  readonly mark: { readonly value: number; readonly mask: number } | undefined
  /** Seconds until the kernel deletes it; undefined if it does not expire. */
  readonly secondsLeft: number | undefined
}

/** A set of `ipset save`. */
export interface IpSet {
  readonly name: string
  /** `hash:ip,port`. */
  readonly type: string
  readonly elements: readonly SetElement[]
  /** Whether its elements have timeouts. */
  readonly isTemporary: boolean
}

/** The element that decides, or undefined if none does; or why this is unknown. */
export type SetAnswer = { readonly element: SetElement | undefined } | { readonly unknown: string }

/**
 * The element with the narrowest networks that contains the packet; undefined if there is none, or it is an exception.
 */
export function findElement(set: IpSet, lookup: SetLookup): SetAnswer {
  const dimensions = set.type.slice(set.type.indexOf(':') + 1).split(',')
  if (!dimensions.every((name) => KNOWN.has(name))) return { unknown: `sets of type ${set.type}` }
  let best: { readonly element: SetElement; readonly width: number } | undefined
  for (const element of set.elements) {
    const fit = fits(element, dimensions, lookup)
    if (fit === 'unknown') return { unknown: `the source port, in set ${set.name}` }
    const width = fit ? widthOf(element) : -1
    if (fit && width > (best?.width ?? -1)) best = { element, width }
  }
  return { element: best?.element.isException ? undefined : best?.element }
}

/** The element that `-j SET` would add for the packet: `10.0.0.2` or `10.0.0.2,tcp:80`. */
export function elementText(set: IpSet, { sides, protocol, mark }: SetLookup): string {
  const dimensions = set.type.slice(set.type.indexOf(':') + 1).split(',')
  return dimensions
    .map((dimension, place) => {
      const side = sides[place]
      if (dimension === 'port') return `${protocol}:${side?.port ?? 'any'}`
      if (dimension === 'iface') return side?.interfaceName ?? ''
      return dimension === 'mark' ? `0x${mark.toString(16)}` : (side?.ip ?? '')
    })
    .join(',')
}

const KNOWN = new Set(['ip', 'net', 'port', 'iface', 'mark'])

function fits(
  { parts }: SetElement,
  dimensions: readonly string[],
  lookup: SetLookup,
): boolean | 'unknown' {
  let isKnown = true
  for (const [place, dimension] of dimensions.entries()) {
    const part = parts[place]
    const side = lookup.sides[place]
    if (part === undefined || side === undefined) return false
    const fit = fitsDimension(dimension, part, { ...lookup, side })
    if (fit === false) return false
    if (fit === 'unknown') isKnown = false
  }
  return isKnown ? true : 'unknown'
}

function fitsDimension(
  dimension: string,
  part: string,
  { side, protocol, mark }: SetLookup & { readonly side: SetSide },
): boolean | 'unknown' {
  if (dimension === 'port') return fitsPort(part, protocol, side.port)
  if (dimension === 'iface') return part === side.interfaceName
  if (dimension === 'mark') return Number(part) === mark
  return fitsAddress(part, side.ip)
}

function fitsPort(part: string, protocol: string, port: number | undefined): boolean | 'unknown' {
  const colon = part.indexOf(':')
  if (colon >= 0 && part.slice(0, colon) !== protocol) return false
  const [first = 0, last = first] = part
    .slice(colon + 1)
    .split('-')
    .map(Number)
  if (port === undefined) return last < 1024 ? false : 'unknown'
  return port >= first && port <= last
}

/** `10.0.0.0/8`, `10.0.0.1-10.0.0.9` or an address. */
function fitsAddress(part: string, ip: IpAddress): boolean {
  if (part === ip) return true
  if (part.includes('/')) {
    const network: Cidr | undefined = parseCidr(part)
    return network !== undefined && cidrContains(network, ip)
  }
  const dash = part.indexOf('-')
  if (dash < 0) return parseIp(part) === ip
  const [first, last] = [parseIp(part.slice(0, dash)), parseIp(part.slice(dash + 1))]
  if (first === undefined || last === undefined) return false
  return rangeBetween(first, last)?.indexOf(ip) !== undefined
}

function widthOf({ parts }: SetElement): number {
  return parts
    .map((part) => (part.includes('/') ? Number(part.slice(part.indexOf('/') + 1)) : 128))
    .reduce((sum, width) => sum + width, 0)
}
