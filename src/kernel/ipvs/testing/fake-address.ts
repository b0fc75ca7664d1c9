import { type Cidr, cidrContains, type IpAddress } from '../../../lib/ip.ts'

/** Addresses that the kernel does not accept as that of one host. */
const OTHERS = [
  '0.0.0.0/32',
  '224.0.0.0/4',
  '255.255.255.255/32',
  '::/128',
  '::ffff:0:0/96',
  'fe80::/10',
  'ff00::/8',
]

/** Whether ip_vs accepts the address for a real server, on a machine without special routes. */
export function isUnicast(ip: IpAddress): boolean {
  return !OTHERS.some((network) => cidrContains(network as Cidr, ip))
}
