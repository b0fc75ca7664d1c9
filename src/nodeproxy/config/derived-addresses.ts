import type { IpAddress } from '../../lib/ip.ts'
import type { Settings } from '../../settings/field.ts'
import type { SocketAddress } from '../../settings/network-types.ts'
import type { NodeProxyConfiguration } from './fields/configuration.ts'

/**
 * The configuration with IPv6 defaults where `bindAddress` is IPv6: `healthzBindAddress` on `::`,
 * `metricsBindAddress` and `inspection.pageBindAddress` on `::1`, unless they are set.
 */
export function deriveAddresses(
  config: NodeProxyConfiguration,
  settings: Settings<NodeProxyConfiguration>,
): NodeProxyConfiguration {
  if (!config.bindAddress.includes(':')) return config
  const { healthzBindAddress, metricsBindAddress, inspection } = config
  const { pageBindAddress } = inspection
  return {
    ...config,
    healthzBindAddress: settings.has('healthzBindAddress')
      ? healthzBindAddress
      : withIp(healthzBindAddress, '::'),
    metricsBindAddress: settings.has('metricsBindAddress')
      ? metricsBindAddress
      : withIp(metricsBindAddress, '::1'),
    inspection: {
      ...inspection,
      pageBindAddress: settings.has('inspection.pageBindAddress')
        ? pageBindAddress
        : withIp(pageBindAddress, '::1'),
    },
  }
}

function withIp(address: SocketAddress | undefined, ip: '::' | '::1'): SocketAddress | undefined {
  return address && { ip: ip as IpAddress, port: address.port }
}
