import { parseAddressRange } from '../../controllers/loadbalancer/address-pool.ts'
import { type Cidr, cidrContains, type IpAddress } from '../../lib/ip.ts'
import { networkRange } from '../../lib/ip-range.ts'
import { overlaps } from '../../lib/special-address.ts'
import type { OrchServerConfiguration } from './configuration.ts'

type Ranges = Pick<
  OrchServerConfiguration,
  'services' | 'sandboxNode' | 'loadBalancer' | 'securePort'
>

/**
 * Warns of ranges that are valid but overlap with other addresses: traffic to this machine, a Pod or a load
 * balancer would go to a Service.
 */
export function rangeWarnings(config: Ranges, own: readonly IpAddress[]): readonly string[] {
  const { services, securePort } = config
  const { first, last } = services.nodePortRange
  const isPortTaken = securePort >= first && securePort <= last
  const port = `--secure-port ${securePort} is in --service-node-port-range ${first}-${last}: a Service may take the port of this server; choose a port outside of it`
  const addresses = services.clusterIPRange.flatMap((cidr) => takenIn(cidr, config, own))
  return isPortTaken ? [...addresses, port] : addresses
}

function takenIn(cidr: Cidr, config: Ranges, own: readonly IpAddress[]): readonly string[] {
  const { loadBalancer, sandboxNode } = config
  const remedy = 'choose a range that nothing else uses'
  const warn = (what: string): string =>
    `--service-cluster-ip-range ${cidr} contains ${what}, which a Service may also get; ${remedy}`
  const pods = sandboxNode.enabled ? sandboxNode.podCIDRs.filter((one) => overlaps(one, cidr)) : []
  const pools = loadBalancer.addressPools
    .flatMap(({ addresses }) => addresses)
    .filter((pool) => isPoolIn(pool, cidr))
  return [
    ...own
      .filter((ip) => cidrContains(cidr, ip))
      .map((ip) => warn(`${ip}, an address of this machine`)),
    ...pods.map((one) => warn(`addresses of Pods, --pod-cidr ${one}`)),
    ...pools.map((one) => warn(`addresses of load balancers, --load-balancer-pool ${one}`)),
  ]
}

function isPoolIn(text: string, cidr: Cidr): boolean {
  const pool = parseAddressRange(text)
  const network = networkRange(cidr)
  return pool.indexOf(network.at(0n)) !== undefined || network.indexOf(pool.at(0n)) !== undefined
}
