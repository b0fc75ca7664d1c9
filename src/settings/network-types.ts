import {
  type Cidr,
  familyOf,
  hostPort,
  type IpAddress,
  parseCidr,
  parseIp,
  splitHostPort,
} from '../lib/ip.ts'
import { formatPortRange, type PortRange, parsePortRange } from '../lib/port-range.ts'
import {
  accept,
  type Decoded,
  MAX_ITEMS,
  type Raw,
  refuse,
  type ValueSchema,
  type ValueType,
} from './value-type.ts'

/** An IP address and a port. */
export interface SocketAddress {
  readonly ip: IpAddress
  readonly port: number
}

const OCTET = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const IPV4 = `${OCTET}(\\.${OCTET}){3}`
/** Matches every IPv6 address, and some other texts: an exact expression would be too long to read. */
const IPV6 = '[0-9A-Fa-f]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*'
const PORT = '[1-9][0-9]{0,4}'
const CIDR = `(${IPV4}/(3[0-2]|[12]?[0-9])|${IPV6}/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))`

/** Matches every IP address. */
export const IP_PATTERN = new RegExp(`^(${IPV4}|${IPV6})$`)

/** Matches every IP address, with a port or without. */
export const SOCKET_PATTERN = new RegExp(`^(${IPV4}(:${PORT})?|\\[${IPV6}\\]:${PORT}|${IPV6})$`)

/** The schema of a list of networks, which may also contain these words. */
export function cidrListSchema(...words: readonly string[]): ValueSchema {
  const pattern = `^(${[CIDR, ...words].join('|')})$`
  return { type: 'array', items: { type: 'string', pattern }, maxItems: MAX_ITEMS }
}

const CIDR_REMEDY = 'write networks with a prefix length, such as 10.0.0.0/8 or fd00::/64'

/** An IP address without leading zeros. */
export const ipAddress: ValueType<IpAddress> = {
  name: 'IP address',
  schema: { type: 'string', pattern: IP_PATTERN.source },
  decode(raw) {
    const ip = typeof raw === 'string' ? parseIp(raw) : undefined
    return ip === undefined ? refuse('write an IP address without leading zeros') : accept(ip)
  },
  fromFlag: (text) => ipAddress.decode(text),
  encode: (value) => value,
}

/** `IP:port`, `[IPv6]:port`, a bare IP (then `port`), or empty for none. */
export function socketAddress(port: number): ValueType<SocketAddress | undefined> {
  const remedy = `write IP:port with a port from 1 to 65535, such as 0.0.0.0:${port} or [::]:${port}`
  const decode = (raw: Raw): Decoded<SocketAddress | undefined> => {
    if (raw === '') return accept(undefined)
    const bare = typeof raw === 'string' ? parseIp(raw) : undefined
    if (bare !== undefined) return accept({ ip: bare, port })
    const address = typeof raw === 'string' ? parseSocketAddress(raw) : undefined
    return address === undefined ? refuse(`${remedy}, or "" for none`) : accept(address)
  }
  return {
    name: 'IP:port',
    schema: { type: 'string', pattern: `^$|${SOCKET_PATTERN.source}` },
    decode,
    fromFlag: decode,
    encode: (value) => (value === undefined ? '' : hostPort(value.ip, value.port)),
  }
}

/** Several networks: a list in the file; commas, or the flag again and again, in flags. */
export const cidrList: ValueType<readonly Cidr[]> = {
  name: 'list of CIDRs',
  schema: cidrListSchema(),
  isList: true,
  decode: (raw) => (Array.isArray(raw) ? decodeCidrs(raw) : refuse(`write a list: ${CIDR_REMEDY}`)),
  fromFlag: (text) => decodeCidrs(splitCommas(text)),
  encode: (value) => value,
}

/** No network, one, or one of each family, as one text with a comma. */
export const cidrPair: ValueType<readonly Cidr[]> = {
  name: 'CIDR, or an IPv4 and an IPv6 CIDR with a comma between',
  schema: { type: 'string', pattern: `^\\s*(${CIDR}\\s*(,\\s*${CIDR}\\s*)*)?$` },
  decode(raw) {
    if (typeof raw !== 'string') return refuse('write one text: networks with a comma between')
    const cidrs = decodeCidrs(splitCommas(raw), (_at, item) =>
      refuse(`${JSON.stringify(item)} is none: ${CIDR_REMEDY}`),
    )
    if (!cidrs.ok) return cidrs
    const families = new Set(cidrs.value.map(familyOf))
    return cidrs.value.length === families.size
      ? cidrs
      : refuse('write one network, or exactly one of each family')
  },
  fromFlag: (text) => cidrPair.decode(text),
  encode: (value) => value.join(','),
}

/** What `parsePortRange` reads; empty or 0-0: any. */
export const portRange: ValueType<PortRange | undefined> = {
  name: 'port range',
  schema: { type: 'string', pattern: '^(0-0|[0-9]{1,5}([-+][0-9]{1,5})?)?$' },
  decode(raw) {
    if (raw === '' || raw === '0-0') return accept(undefined)
    const range = typeof raw === 'string' ? parsePortRange(raw) : undefined
    return range === undefined
      ? refuse('write a range of ports such as 30000-32767, or "" for any')
      : accept(range)
  },
  fromFlag: (text) => portRange.decode(text),
  encode: (value) => (value === undefined ? '' : formatPortRange(value)),
}

/** The items of a flag that holds a list. */
export function splitCommas(text: string): string[] {
  const parts = text.split(',').map((part) => part.trim())
  return parts.length === 1 && parts[0] === '' ? [] : parts
}

function decodeCidrs(
  list: readonly Raw[],
  refuseItem = (at: number, _item: Raw): Decoded<never> => refuse(CIDR_REMEDY, `[${at}]`),
): Decoded<readonly Cidr[]> {
  const cidrs: Cidr[] = []
  const warnings: string[] = []
  for (const [at, item] of list.entries()) {
    const text = typeof item === 'string' ? item : ''
    const cidr = text.includes('/') ? parseCidr(text) : undefined
    if (cidr === undefined) return refuseItem(at, item)
    if (!isNetwork(text, cidr)) {
      warnings.push(`${text} is an address inside of the network ${cidr}, which is used`)
    }
    if (!cidrs.includes(cidr)) cidrs.push(cidr)
  }
  return accept(cidrs, warnings.length > 0 ? `${warnings.join('; ')}; write that` : undefined)
}

/** Whether the address of a network in CIDR notation is its first one. */
function isNetwork(text: string, cidr: Cidr): boolean {
  const [address = ''] = text.split('/')
  return cidr.startsWith(`${parseIp(address)}/`)
}

/** `IP:port` or `[IPv6]:port`; undefined when it is neither. */
export function parseSocketAddress(text: string): SocketAddress | undefined {
  const { host = '', port = '' } = splitHostPort(text) ?? {}
  const ip = parseIp(host)
  if (ip === undefined || !/^[1-9]/.test(port) || Number(port) > 65_535) return undefined
  return { ip, port: Number(port) }
}
