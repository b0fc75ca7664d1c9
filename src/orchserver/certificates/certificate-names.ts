import { isIP } from 'node:net'
import { formatIp, type IpAddress, ipBytes } from '../../lib/ip.ts'
import { API_SERVICE_NAMES, API_SERVICE_NAMESPACE } from '../../resources/pod-environment.ts'

/** The names that a certificate is good for. */
export interface CertificateNames {
  readonly dns: readonly string[]
  readonly ips: readonly string[]
}

export interface NameSources {
  readonly hostname: string
  /** The address at which other machines reach the server. */
  readonly address: IpAddress
  /** The first two addresses of each Service range: where the API's own Services are. */
  readonly serviceAddresses: readonly IpAddress[]
  readonly extraNames: readonly string[]
}

/** All names and addresses that clients use for the server, each once. */
export function certificateNames(sources: NameSources): CertificateNames {
  const { hostname, address, serviceAddresses, extraNames } = sources
  const isAddress = (name: string): boolean => isIP(name) !== 0
  const services = API_SERVICE_NAMES.flatMap((name) => {
    const full = `${name}.${API_SERVICE_NAMESPACE}`
    return [name, full, `${full}.svc`, `${full}.svc.cluster.local`]
  })
  const dns = ['localhost', hostname, ...services, ...extraNames.filter((name) => !isAddress(name))]
  const ips = ['127.0.0.1', '::1', address, ...serviceAddresses, ...extraNames.filter(isAddress)]
  return {
    dns: [...new Set(dns.map((name) => name.toLowerCase()))],
    ips: [...new Set(ips.map((ip) => formatIp(ipBytes(ip as IpAddress))))],
  }
}
