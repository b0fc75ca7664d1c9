import { isIP } from 'node:net'
import { parseAddressPool } from '../../controllers/address-pool.ts'
import { knownControllers } from '../../controllers/known-controllers.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { type Cidr, type IpAddress, networkAddress, parseIp } from '../../lib/ip.ts'
import { networkRange } from '../../lib/ip-range.ts'
import type { PortRange } from '../../lib/port-range.ts'
import type { Field } from '../../settings/field.ts'
import { cidrPair, IP_PATTERN, portRange, splitCommas } from '../../settings/network-types.ts'
import { listOf, text } from '../../settings/scalar-types.ts'
import {
  accept,
  type Decoded,
  type Raw,
  refuse,
  type ValueType,
} from '../../settings/value-type.ts'
import { parseEndpoints } from '../../storage/etcd/endpoint.ts'

/** The names that `--controllers` accepts. */
export const CONTROLLER_NAMES: readonly string[] = knownControllers([]).map(({ name }) => name)

/** Text that is not only blanks. */
const NOT_BLANK = /\S/
const INTERFACE_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,14}$/
const NAMESPACE_PREFIX = /^[a-z0-9][a-z0-9-]{0,62}$/
const ETCD_PREFIX = /^\/[^\s]*[^\s/]$/
const URL_PATH = /^\/[\w./-]*$/
const NODE_ADDRESS_TYPES: readonly string[] = ['InternalIP', 'ExternalIP']

const DNS_NAME =
  /^(?:\*\.)?[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i

/** A text that is empty unless it is set, such as the path of a file. */
export function optionalText(flag: string, doc: string): Field<string> {
  return { flag, type: text(), fallback: '', doc }
}

/** Value types of settings that only orch-server has. */
export const fieldTypes = {
  /** Text that is not blank. */
  present: text(
    (value) => (value.trim() === '' ? 'write something; it may not be empty' : undefined),
    NOT_BLANK,
  ),

  names: listOf(
    'list of DNS names and IP addresses',
    (item) =>
      isIP(item) !== 0 || (item.length <= 253 && DNS_NAME.test(item))
        ? undefined
        : 'write DNS names or IP addresses, such as orch.example.org or 192.0.2.1',
    /^[\w.:*%@-]+$/,
  ),

  addresses: {
    ...listOf(
      'list of IP addresses',
      (item) =>
        parseIp(item) === undefined ? 'write IP addresses, such as 192.0.2.10' : undefined,
      IP_PATTERN,
    ),
  } as ValueType<readonly IpAddress[]>,

  nodeAddressTypes: listOf(
    'list of types of addresses',
    (item) =>
      NODE_ADDRESS_TYPES.includes(item)
        ? undefined
        : `write one of ${NODE_ADDRESS_TYPES.join(', ')}: names of nodes are not resolved`,
    new RegExp(`^(${NODE_ADDRESS_TYPES.join('|')})$`),
  ),

  interfaceName: text(
    (value) =>
      INTERFACE_NAME.test(value)
        ? undefined
        : 'write the name of a network interface: up to 15 letters, digits, - and _',
    INTERFACE_NAME,
  ),

  namespacePrefix: text(
    (value) =>
      NAMESPACE_PREFIX.test(value) ? undefined : 'write up to 63 small letters, digits and -',
    NAMESPACE_PREFIX,
  ),

  urls: listOf(
    'list of URLs',
    (item) =>
      isAccepted((text) => parseEndpoints([text], false), item)
        ? undefined
        : 'write URLs, such as https://192.0.2.1:2379',
    NOT_BLANK,
  ),

  controllers: listOf(
    'list of controllers',
    (item) =>
      unknownNames([item], CONTROLLER_NAMES).length === 0
        ? undefined
        : `write *, or one of ${CONTROLLER_NAMES.join(', ')}, with - in front to leave it out`,
    new RegExp(`^-?(\\*|${CONTROLLER_NAMES.join('|')})$`),
  ),

  addressPools: listOf(
    'list of networks and ranges',
    (item) =>
      isAccepted(parseAddressPool, item)
        ? undefined
        : 'write networks or ranges, such as 192.0.2.0/24 or 192.0.2.10-192.0.2.20',
    /^\s*[0-9A-Fa-f.:]+(\/[0-9]+|\s*-\s*[0-9A-Fa-f.:]+)?\s*$/,
  ),

  etcdPrefix: text(
    (value) => (ETCD_PREFIX.test(value) ? undefined : 'write a path such as /registry'),
    ETCD_PREFIX,
  ),

  serviceRanges: { ...cidrPair, decode: oneOrTwo, fromFlag: oneOrTwo },

  podNetworks: { ...cidrPair, decode: largeEnoughForPods, fromFlag: largeEnoughForPods },

  nodePorts: {
    name: portRange.name,
    schema: { type: 'string', pattern: '^[0-9]{1,5}([-+][0-9]{1,5})?$' },
    decode: boundedPorts,
    fromFlag: boundedPorts,
    encode: (value) => portRange.encode(value),
  } satisfies ValueType<PortRange>,
}

/** One network for each family, without host bits: `10.96.0.1/16` is ambiguous. */
function oneOrTwo(raw: Raw): ReturnType<typeof cidrPair.decode> {
  const decoded = cidrPair.decode(raw)
  if (!decoded.ok) return decoded
  if (decoded.value.length === 0) return refuse('write a network such as 10.96.0.0/16')
  const written = splitCommas(typeof raw === 'string' ? raw : '')
  if (written.length > decoded.value.length) return refuse('write each network once')
  const loose = decoded.value.find((cidr, at) => !isSameAddress(written[at] ?? '', cidr))
  return loose === undefined
    ? decoded
    : refuse(`the address has bits beyond its prefix; write ${loose} if that is meant`)
}

function isSameAddress(written: string, cidr: Cidr): boolean {
  const [address = ''] = written.split('/')
  return parseIp(address) === networkAddress(cidr)
}

/** A network with addresses for Pods besides the network address, the gateway and the last address. */
function largeEnoughForPods(raw: Raw): ReturnType<typeof cidrPair.decode> {
  const decoded = cidrPair.decode(raw)
  if (!decoded.ok) return decoded
  return decoded.value.length > 0 && decoded.value.every((cidr) => networkRange(cidr).size >= 4n)
    ? decoded
    : refuse(
        'is too small for a Pod; write a network such as 10.244.0.0/24, no longer than /30 for IPv4 and /126 for IPv6',
      )
}

function boundedPorts(raw: Raw): Decoded<PortRange> {
  const decoded = portRange.decode(raw)
  if (decoded.ok && decoded.value !== undefined) return accept(decoded.value)
  return refuse('write a range of ports such as 30000-32767')
}

/** Whether a parser accepts the text; it throws a `NodeProxyError` if not. */
function isAccepted(parse: (text: string) => unknown, text: string): boolean {
  try {
    parse(text)
    return true
  } catch (error) {
    if (error instanceof NodeProxyError) return false
    throw error
  }
}

/** Value types of the settings about users. */
export const identityTypes = {
  texts: listOf(
    'list of texts',
    (item) => (item.trim() === '' ? 'write texts that are not blank' : undefined),
    NOT_BLANK,
  ),

  issuers: listOf(
    'list of https URLs',
    (item) => (isHttps(item) ? undefined : 'write https URLs, such as https://orch.example.org'),
    /^[Hh][Tt][Tt][Pp][Ss]:[^?#\s]+$/,
  ),

  httpsOrEmpty: text(
    (value) =>
      value === '' || isHttps(value)
        ? undefined
        : 'write an https URL without a query, such as https://id.example.org',
    /^([Hh][Tt][Tt][Pp][Ss]:[^?#\s]+)?$/,
  ),

  urlPaths: listOf(
    'list of paths',
    (item) =>
      URL_PATH.test(item) && item !== '/'
        ? undefined
        : 'write paths of documents, such as /healthz; / would be everything',
    URL_PATH,
  ),

  claim: text(
    (value) =>
      value.trim() === '' ? 'name a claim of the ID tokens, such as sub or email' : undefined,
    NOT_BLANK,
  ),

  addressOrEmpty: text(
    (value) =>
      value === '' || parseIp(value) !== undefined ? undefined : 'write an IP address or nothing',
    new RegExp(`^$|${IP_PATTERN.source}`),
  ) as ValueType<IpAddress | ''>,
}

/** An issuer (OpenID Connect Discovery 1.0 §2): https, without query and fragment. */
function isHttps(value: string): boolean {
  if (!URL.canParse(value)) return false
  const { protocol, search, hash, username } = new URL(value)
  return protocol === 'https:' && search + hash + username === '' && !/[?#\s]/u.test(value)
}

/** Names of a selection that no controller has. */
export function unknownNames(
  selection: readonly string[],
  known: readonly string[],
): readonly string[] {
  const isKnown = (one: string): boolean => one === '*' || known.includes(one.replace(/^-/, ''))
  return selection.filter((one) => !isKnown(one))
}
