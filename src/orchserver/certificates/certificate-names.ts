import { isIP } from 'node:net'
import { formatIp, type IpAddress, ipBytes } from '../../lib/ip.ts'

/** The names that a certificate is good for. */
export interface CertificateNames {
  readonly dns: readonly string[]
  readonly ips: readonly string[]
}

export interface NameSources {
  readonly hostname: string
  readonly bindAddress: IpAddress
  /** The first address of each Service range: where the API's own Service is. */
  readonly serviceAddresses: readonly IpAddress[]
  readonly extraNames: readonly string[]
}

/** The Service of the API, as pods call it, under our name and under the ecosystem's. */
const SERVICES = ['orch', 'kubernetes']

/** Everything that clients call the server; each name once. */
export function certificateNames(sources: NameSources): CertificateNames {
  const { hostname, bindAddress, serviceAddresses, extraNames } = sources
  const isAddress = (name: string): boolean => isIP(name) !== 0
  const services = SERVICES.flatMap((name) =>
    [name, `${name}.default`, `${name}.default.svc`].concat(`${name}.default.svc.cluster.local`),
  )
  const dns = ['localhost', hostname, ...services, ...extraNames.filter((name) => !isAddress(name))]
  const ips = [
    '127.0.0.1',
    '::1',
    bindAddress,
    ...serviceAddresses,
    ...extraNames.filter(isAddress),
  ]
  return {
    dns: [...new Set(dns.map((name) => name.toLowerCase()))],
    ips: [...new Set(ips.map((ip) => formatIp(ipBytes(ip as IpAddress))))],
  }
}
