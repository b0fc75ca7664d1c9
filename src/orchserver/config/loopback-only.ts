import { BlockList, isIPv6 } from 'node:net'
import { NodeProxyError } from '../../lib/error.ts'
import type { OrchServerConfiguration } from './configuration.ts'

/**
 * Refuses to be reached from elsewhere: there is no authentication yet, so
 * every client that reaches the server may do everything.
 * @throws NP_ORCHSERVER_BIND
 */
export function refuseForeignBind({ bindAddress }: OrchServerConfiguration): void {
  const loopback = new BlockList()
  loopback.addSubnet('127.0.0.0', 8, 'ipv4')
  loopback.addAddress('::1', 'ipv6')
  if (loopback.check(bindAddress, isIPv6(bindAddress) ? 'ipv6' : 'ipv4')) return
  throw new NodeProxyError(
    'NP_ORCHSERVER_BIND',
    `--bind-address ${JSON.stringify(bindAddress)} is not of the loopback, and every client that reached this server there could do everything, because there is no authentication yet`,
    {
      object: bindAddress,
      hint: 'serve on 127.0.0.1 or ::1, and reach it from elsewhere by a tunnel such as ssh -L',
    },
  )
}
