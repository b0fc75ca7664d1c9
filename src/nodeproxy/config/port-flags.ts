import type { DeprecatedFlag } from '../../settings/table.ts'
import { accept, refuse } from '../../settings/value-type.ts'
import type { NodeProxyConfiguration } from './fields/configuration.ts'

/**
 * A flag with the port for the address at `path`. The IP address is `v4`, or `v6` where `bindAddress` is IPv6. Port 0
 * sets no address, so that nothing is served.
 */
function portFlag(
  path: 'healthzBindAddress' | 'metricsBindAddress',
  v4: string,
  v6: string,
): DeprecatedFlag<NodeProxyConfiguration> {
  return {
    path,
    value: 'port',
    translate(port, settings) {
      if (port === '0') return accept('')
      if (!/^[1-9][0-9]{0,4}$/.test(port))
        return refuse('write a port from 1 to 65535, or 0 for none')
      const bindAddress = settings.get('bindAddress')?.value
      const isV6 = typeof bindAddress === 'string' && bindAddress.includes(':')
      return accept(`${isV6 ? v6 : v4}:${port}`)
    },
  }
}

/** The deprecated flags of kube-proxy for ports. */
export const PORT_FLAGS: ReadonlyMap<string, DeprecatedFlag<NodeProxyConfiguration>> = new Map([
  ['healthz-port', portFlag('healthzBindAddress', '0.0.0.0', '[::]')],
  ['metrics-port', portFlag('metricsBindAddress', '127.0.0.1', '[::1]')],
])
