import type { IpAddress } from '../../lib/ip.ts'
import type { SocketAddress } from '../../settings/network-types.ts'
import type { Settings } from '../../settings/settings.ts'
import type { NodeProxyConfiguration } from './fields/configuration.ts'

/** Addresses that are not set follow the family of bindAddress. */
export function deriveAddresses(
  config: NodeProxyConfiguration,
  settings: Settings<NodeProxyConfiguration>,
): NodeProxyConfiguration {
  if (!config.bindAddress.includes(':')) return config
  const { healthzBindAddress, metricsBindAddress } = config
  return {
    ...config,
    healthzBindAddress: settings.has('healthzBindAddress')
      ? healthzBindAddress
      : moveTo(healthzBindAddress, '::'),
    metricsBindAddress: settings.has('metricsBindAddress')
      ? metricsBindAddress
      : moveTo(metricsBindAddress, '::1'),
  }
}

function moveTo(address: SocketAddress | undefined, ip: '::' | '::1'): SocketAddress | undefined {
  return address && { ip: ip as IpAddress, port: address.port }
}
