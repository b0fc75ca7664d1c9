import type { Brand } from './brand.ts'

/** An IP address in canonical text: dotted quad without leading zeros, or RFC 5952. */
export type IpAddress = Brand<string, 'IpAddress'>

/** A network in canonical text, host bits cleared: `10.0.0.0/8`, `fd00::/64`. */
export type Cidr = Brand<string, 'Cidr'>

/** The IP version. */
export type Family = 4 | 6

const OCTET = /^(0|[1-9][0-9]{0,2})$/
const DOTTED_QUAD =
  /^(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\.(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])){3}$/
const BARE_V6 = /^[^[\]:]*:[^[\]:]*:[^[\]]*$/
const HOST_PORT = /^(?:\[([^[\]]*:[^[\]]*)\]|([^[\]:]+))(?::(\d{0,5}))?$/
const HEXTET = /^[0-9a-fA-F]{1,4}$/

/**
 * The address as bytes (4 or 16), or undefined. Forms that parsers read differently are refused: leading zeros
 * (CVE-2021-29923), zones, blanks and short forms.
 */
export function parseIpBytes(text: string): Uint8Array | undefined {
  if (text.length > 45) return undefined
  return text.includes(':') ? parseV6(text) : parseV4(text)
}

/**
 * Parses an address and returns its canonical text; undefined if `text` is not an address. IPv4 has only one text
 * form, so that text is only checked.
 */
export function parseIp(text: string): IpAddress | undefined {
  if (DOTTED_QUAD.test(text)) return text as IpAddress
  const bytes = parseIpBytes(text)
  return bytes && formatIp(bytes)
}

/** Canonical text of 4 or 16 bytes. */
export function formatIp(bytes: Uint8Array): IpAddress {
  return (bytes.length === 4 ? bytes.join('.') : formatV6(bytes)) as IpAddress
}

/** The IP version of an address or network. */
export function familyOf(ip: IpAddress | Cidr): Family {
  return ip.includes(':') ? 6 : 4
}

/** The bytes of an address that was parsed before. */
export function ipBytes(ip: IpAddress): Uint8Array {
  const bytes = parseIpBytes(ip)
  if (bytes === undefined) throw new TypeError(`not a parsed address: ${JSON.stringify(ip)}`)
  return bytes
}

/** Parses `address/prefix` (or a bare address as a host network) and clears the host bits. */
export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf('/')
  const bytes = parseIpBytes(slash < 0 ? text : text.slice(0, slash))
  if (bytes === undefined) return undefined
  const width = bytes.length * 8
  const suffix = slash < 0 ? String(width) : text.slice(slash + 1)
  if (!OCTET.test(suffix) || Number(suffix) > width) return undefined
  return `${formatIp(maskBytes(bytes, Number(suffix)))}/${suffix}` as Cidr
}

/** The network of one address: `10.0.0.1/32`, `fd00::1/128`. */
export function hostCidr(ip: IpAddress): Cidr {
  return `${ip}/${familyOf(ip) === 4 ? 32 : 128}` as Cidr
}

/** The first address of a network. */
export function networkAddress(cidr: Cidr): IpAddress {
  return cidr.slice(0, cidr.indexOf('/')) as IpAddress
}

/** The length of a network's prefix in bits. */
export function prefixLength(cidr: Cidr): number {
  return Number(cidr.slice(cidr.indexOf('/') + 1))
}

/** Whether `ip` lies in `cidr`; false across families. */
export function cidrContains(cidr: Cidr, ip: IpAddress): boolean {
  const address = ipBytes(ip)
  const network = networkAddress(cidr)
  if (address.length !== ipBytes(network).length) return false
  return formatIp(maskBytes(address, prefixLength(cidr))) === network
}

/** `10.0.0.1:80`, `[fd00::1]:80` or `name:80`. */
export function hostPort(host: string, port: number | string): string {
  return `${urlHost(host)}:${port}`
}

/** A host as URLs have it: an IPv6 address in brackets. */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

/** A host and its port as they are written. */
export interface HostPort {
  /** Without brackets; whether it is an address is not checked. */
  readonly host: string
  /** At most five digits, perhaps none; undefined: there is no colon for it. */
  readonly port: string | undefined
}

/** Reads `name`, `10.0.0.1:80`, `fd00::1`, `[fd00::1]` and `[fd00::1]:80`; undefined: none of these forms. */
export function splitHostPort(text: string): HostPort | undefined {
  if (BARE_V6.test(text)) return { host: text, port: undefined }
  const [, six, other, port] = HOST_PORT.exec(text) ?? []
  const host = six ?? other
  return host === undefined ? undefined : { host, port }
}

function maskBytes(bytes: Uint8Array, prefix: number): Uint8Array {
  return bytes.map((byte, index) => {
    const keep = Math.min(Math.max(prefix - index * 8, 0), 8)
    return byte & (0xff << (8 - keep))
  })
}

function parseV4(text: string): Uint8Array | undefined {
  const parts = text.split('.')
  if (parts.length !== 4) return undefined
  const bytes = new Uint8Array(4)
  for (const [index, part] of parts.entries()) {
    if (!OCTET.test(part) || Number(part) > 255) return undefined
    bytes[index] = Number(part)
  }
  return bytes
}

function parseV6(text: string): Uint8Array | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const head = hextets(halves[0] ?? '', halves.length === 1)
  const tail = halves.length === 2 ? hextets(halves[1] ?? '', true) : []
  if (head === undefined || tail === undefined) return undefined
  const given = head.length + tail.length
  if (halves.length === 2 ? given > 7 : given !== 8) return undefined
  const words = [...head, ...Array<number>(8 - given).fill(0), ...tail]
  return Uint8Array.from(words.flatMap((word) => [word >> 8, word & 0xff]))
}

/** The 16-bit words of one side of `::`; a dotted quad is allowed only at the very end. */
function hextets(text: string, mayEndInV4: boolean): number[] | undefined {
  if (text === '') return []
  const words: number[] = []
  const parts = text.split(':')
  for (const [index, part] of parts.entries()) {
    if (HEXTET.test(part)) words.push(Number.parseInt(part, 16))
    else {
      const quad = mayEndInV4 && index === parts.length - 1 ? parseV4(part) : undefined
      if (quad === undefined) return undefined
      words.push((quad[0]! << 8) | quad[1]!, (quad[2]! << 8) | quad[3]!)
    }
  }
  return words
}

/** RFC 5952: lower case, no leading zeros, the first longest run of ≥ 2 zero words as `::`. */
function formatV6(bytes: Uint8Array): string {
  const words = Array.from({ length: 8 }, (_, i) => (bytes[2 * i]! << 8) | bytes[2 * i + 1]!)
  const run = longestZeroRun(words)
  const hex = words.map((word) => word.toString(16))
  if (run.length < 2) return hex.join(':')
  return `${hex.slice(0, run.start).join(':')}::${hex.slice(run.start + run.length).join(':')}`
}

function longestZeroRun(words: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 }
  for (let start = 0; start < words.length; start++) {
    let end = start
    while (words[end] === 0) end++
    if (end - start > best.length) best = { start, length: end - start }
    if (end > start) start = end
  }
  return best
}
