import type { Raw } from '../../resources/reader.ts'

/**
 * The objects that the golden questions are about, as an API server holds them. The Services of the API server
 * itself are left out, because every API server creates them.
 */

const TCP = 'TCP'
const UDP = 'UDP'
const WEB_PORTS = [
  { name: 'http', protocol: TCP, port: 80 },
  { name: 'https', protocol: TCP, port: 443 },
  { name: 'statsd', protocol: UDP, port: 9125 },
]
const DATABASE_PORTS = [
  { name: 'sql', protocol: TCP, port: 5432 },
  { name: 'peer', protocol: UDP, port: 7000 },
]
const HTTP = [{ name: 'http', protocol: TCP, port: 80 }]

/** How many endpoints the Service `shop/many` has: more than a datagram holds. */
export const MANY = 200

function service(key: string, spec: Raw): Raw {
  const [namespace, name] = key.split('/')
  return { apiVersion: 'v1', kind: 'Service', metadata: { namespace, name }, spec }
}

function clusterIp(key: string, clusterIPs: readonly string[], ports: readonly Raw[] = HTTP): Raw {
  const ipFamilies = clusterIPs.map((ip) => (ip.includes(':') ? 'IPv6' : 'IPv4'))
  const ipFamilyPolicy = clusterIPs.length > 1 ? 'RequireDualStack' : 'SingleStack'
  const [clusterIP] = clusterIPs
  return service(key, { clusterIP, clusterIPs, ipFamilies, ipFamilyPolicy, ports })
}

function headless(key: string, ports: readonly Raw[], more: Raw = {}): Raw {
  return service(key, { clusterIP: 'None', ports, ...more })
}

function external(key: string, externalName: string): Raw {
  return service(key, { type: 'ExternalName', externalName })
}

function slice(key: string, endpoints: readonly Raw[], ports: readonly Raw[], suffix = 'a'): Raw {
  const [namespace, name = ''] = key.split('/')
  const [first] = endpoints as readonly { readonly addresses: readonly string[] }[]
  const addressType = first?.addresses[0]?.includes(':') ? 'IPv6' : 'IPv4'
  const labels = { 'kubernetes.io/service-name': name, 'service.kubernetes.io/headless': '' }
  const metadata = { namespace, name: `${name}-${suffix}`, labels }
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata,
    addressType,
    endpoints,
    ports,
  }
}

function endpoint(address: string, hostname?: string, ready = true): Raw {
  return { addresses: [address], ...(hostname && { hostname }), conditions: { ready } }
}

/** The Services, in the namespaces `shop` and `test`. */
export const SERVICES: readonly Raw[] = [
  clusterIp('shop/web', ['10.96.0.10'], WEB_PORTS),
  clusterIp('test/web', ['10.96.0.20']),
  clusterIp('shop/dual', ['10.96.0.11', 'fd00:96::11']),
  clusterIp('shop/six', ['fd00:96::12']),
  clusterIp('shop/plain', ['10.96.0.13'], [{ protocol: TCP, port: 8080 }]),
  clusterIp(
    'shop/both-53',
    ['10.96.0.14'],
    [
      { name: 'dns', protocol: UDP, port: 53 },
      { name: 'dns-tcp', protocol: TCP, port: 53 },
    ],
  ),
  clusterIp('shop/signal', ['10.96.0.15'], [{ name: 's1', protocol: 'SCTP', port: 2905 }]),
  headless('shop/db', DATABASE_PORTS),
  headless('shop/db6', HTTP, { ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack' }),
  headless('shop/mixed', HTTP, {
    ipFamilies: ['IPv4', 'IPv6'],
    ipFamilyPolicy: 'RequireDualStack',
  }),
  headless('shop/empty', HTTP),
  headless('shop/asleep', HTTP),
  headless('shop/early', HTTP, { publishNotReadyAddresses: true }),
  headless('shop/many', HTTP),
  external('shop/outside', 'db.example.com'),
  external('shop/alias', 'web.shop.svc.cluster.local'),
  external('shop/alias-of-alias', 'alias.shop.svc.cluster.local'),
  external('shop/alias-of-db', 'db.shop.svc.cluster.local'),
  external('shop/alias-outside', 'outside.shop.svc.cluster.local'),
  external('shop/alias-lost', 'lost.shop.svc.cluster.local'),
  external('shop/loop-a', 'loop-b.shop.svc.cluster.local'),
  external('shop/loop-b', 'loop-a.shop.svc.cluster.local'),
]

/** The EndpointSlices of the headless Services. `shop/web` has none, but still has an address. */
export const SLICES: readonly Raw[] = [
  slice(
    'shop/db',
    [
      endpoint('10.244.1.10', 'db-0'),
      endpoint('10.244.1.11', 'db-1'),
      endpoint('10.244.1.12'),
      endpoint('10.244.1.13', 'db-3', false),
    ],
    DATABASE_PORTS,
  ),
  slice('shop/db6', [endpoint('5678:abcd::1'), endpoint('5678:abcd::2', 'six')], HTTP),
  slice('shop/mixed', [endpoint('10.244.2.1', 'one')], HTTP),
  slice('shop/mixed', [endpoint('fd00:244::2:1', 'one')], HTTP, 'b'),
  slice('shop/asleep', [endpoint('10.244.3.1', 'zzz', false)], HTTP),
  slice('shop/early', [endpoint('10.244.4.1', 'bird', false), endpoint('10.244.4.2')], HTTP),
  slice(
    'shop/many',
    Array.from({ length: MANY }, (_, index) => endpoint(`10.245.0.${index + 1}`)),
    HTTP,
  ),
]
