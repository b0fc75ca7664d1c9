import { type Cidr, hostPort, type IpAddress, parseIp } from '../lib/ip.ts'
import { isSubdomain } from '../resources/names.ts'
import type { FieldsOf, PathsUnder } from '../settings/field.ts'
import {
  cidrList,
  IP_PATTERN,
  parseSocketAddress,
  SOCKET_PATTERN,
  type SocketAddress,
} from '../settings/network-types.ts'
import { integer, listOf, text } from '../settings/scalar-types.ts'
import { accept, type ValueType } from '../settings/value-type.ts'
import { parseUpstream, type Upstream, upstreamName } from './forward/upstream/upstream.ts'

const DNS_PORT = 53
const MEBIBYTE = 1_048_576
/** An address with a zone or without, and perhaps a port. */
const UPSTREAM = /^\[?[0-9A-Fa-f.:]+(%[\w.-]+)?(\](:[0-9]+)?)?$/
/** Two labels or more. */
const DOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/

/** Loopback, private, shared and link-local networks, which nearly all Pods and nodes are in. */
const PRIVATE_NETWORKS = [
  '127.0.0.0/8',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '169.254.0.0/16',
  '::1/128',
  'fc00::/7',
  'fe80::/10',
].map((text) => text as Cidr)

/** A program whose settings of DNS are in a section `dns`. */
interface WithDns {
  readonly dns: DnsSettings
}

/** The settings in the section `dns`. */
export const DNS_FIELDS: FieldsOf<WithDns, PathsUnder<WithDns, 'dns'>> = {
  'dns.addresses': {
    flag: 'dns-address',
    type: addressList(),
    fallback: [],
    doc: 'Where questions about names of Services are answered, over UDP and TCP: addresses with a port, or without one for port 53. Empty: nowhere.',
  },
  'dns.domain': {
    flag: 'cluster-domain',
    type: domainType(),
    fallback: 'cluster.local',
    doc: 'The domain that names of Services end with.',
  },
  'dns.serverAddresses': {
    flag: 'dns-server-address',
    type: ipList(),
    fallback: [],
    doc: 'Addresses under which clients know this server, usually those of its Service; they are answered for the name ns.dns in the cluster domain.',
  },
  'dns.clientNetworks': {
    flag: 'dns-client-networks',
    type: cidrList,
    fallback: PRIVATE_NETWORKS,
    doc: 'Networks whose clients are answered; others are refused.',
  },
  'dns.amplifiedBytesPerSecond': {
    flag: 'dns-amplified-bytes-per-second',
    type: integer(MEBIBYTE / 256, 1_024 * MEBIBYTE),
    fallback: MEBIBYTE,
    doc: 'How many bytes a client gets each second in datagrams more than twice as long as its questions; beyond that its responses are truncated, so that it repeats its questions over TCP, where its address cannot be forged.',
  },
  'dns.forward.upstreams': {
    flag: 'dns-upstream',
    type: upstreamList(),
    fallback: [],
    doc: 'Servers that are queried for names outside of the cluster domain: addresses with a port, or without one for port 53. None here and none in resolvConf: such questions are refused.',
  },
  'dns.forward.resolvConf': {
    flag: 'dns-resolv-conf',
    type: text(),
    fallback: '',
    doc: 'File of the resolver, such as /etc/resolv.conf, whose name servers are queried for names outside of the cluster domain. Empty: none.',
  },
}

function domainType(): ValueType<string> {
  const plain = text(
    (value) =>
      isSubdomain(value) && value.includes('.')
        ? undefined
        : 'write a domain of two labels or more in lower case, such as cluster.local',
    DOMAIN,
  )
  return plain
}

function addressList(): ValueType<readonly SocketAddress[]> {
  const remedy = 'write addresses such as 10.96.0.10, 10.96.0.10:53 or [fd00::a]:53'
  return parsedList('list of IP addresses with ports', {
    parse: toSocketAddress,
    remedy,
    pattern: SOCKET_PATTERN,
    format: ({ ip, port }) => hostPort(ip, port),
  })
}

function upstreamList(): ValueType<readonly Upstream[]> {
  const remedy =
    'write addresses such as 192.0.2.53, 192.0.2.53:5353, [2001:db8::53]:53 or fe80::1%eth0'
  return parsedList('list of DNS servers', {
    parse: parseUpstream,
    remedy,
    pattern: UPSTREAM,
    format: upstreamName,
  })
}

interface ItemFormat<T> {
  readonly parse: (text: string) => T | undefined
  /** The remedy for an item that cannot be parsed: what to write instead. */
  readonly remedy: string
  /** Matches every item that can be parsed. */
  readonly pattern: RegExp
  readonly format: (item: T) => string
}

function parsedList<T>(
  name: string,
  { parse, remedy, pattern, format }: ItemFormat<T>,
): ValueType<readonly T[]> {
  const check = (item: string) => (parse(item) === undefined ? remedy : undefined)
  const texts = listOf(name, check, pattern)
  const parsed = (decoded: ReturnType<typeof texts.decode>) =>
    decoded.ok ? accept(decoded.value.map((item) => parse(item)!)) : decoded
  return {
    name,
    schema: texts.schema,
    isList: true,
    decode: (raw) => parsed(texts.decode(raw)),
    fromFlag: (value) => parsed(texts.fromFlag(value)),
    encode: (value) => value.map(format),
  }
}

function toSocketAddress(item: string): SocketAddress | undefined {
  const ip = parseIp(item)
  return ip === undefined ? parseSocketAddress(item) : { ip, port: DNS_PORT }
}

function ipList(): ValueType<readonly IpAddress[]> {
  return listOf(
    'list of IP addresses',
    (item) => (parseIp(item) === undefined ? 'write IP addresses, such as 10.96.0.10' : undefined),
    IP_PATTERN,
  ) as ValueType<readonly IpAddress[]>
}

/** What an operator decides about names of Services, in every program that answers them. */
export interface DnsSettings {
  /** Where questions are answered, over UDP and TCP; empty: nowhere. */
  readonly addresses: readonly SocketAddress[]
  readonly domain: string
  /** The addresses at which clients reach the server; they are answered for its own name. */
  readonly serverAddresses: readonly IpAddress[]
  readonly clientNetworks: readonly Cidr[]
  readonly amplifiedBytesPerSecond: number
  readonly forward: {
    /** Servers that are queried for other names. */
    readonly upstreams: readonly Upstream[]
    /** A resolv.conf file that lists further ones; empty: none. */
    readonly resolvConf: string
  }
}
