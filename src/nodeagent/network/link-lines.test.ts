import { expect, test } from 'vitest'
import type { Cidr, IpAddress } from '../../lib/ip.ts'
import { bridgeLines, nodeLines, podLines } from './pod-network.ts'

const CIDRS = ['10.244.0.0/24' as Cidr, 'fd00::/64' as Cidr]
const IPS = ['10.244.0.2' as IpAddress, 'fd00::2' as IpAddress]

test('the bridge, both ends of a link, in both families', () => {
  const [first, ...rest] = bridgeLines({ bridge: 'cbr0', nodeName: 'n', podCIDRs: CIDRS })
  expect(first).toMatch(/^link add cbr0 address 02(:[0-9a-f]{2}){5} type bridge$/)
  expect(rest).toEqual([
    'link set cbr0 up',
    'addr add 10.244.0.1/32 dev cbr0',
    'addr add fd00::1/128 dev cbr0 nodad',
  ])
  const link = { nodeEnd: 'veth0123456789', namespace: 'p', bridge: 'cbr0', ips: IPS }
  expect(nodeLines(link)).toEqual([
    'link add veth0123456789 type veth peer name eth0 netns p',
    'link set veth0123456789 master cbr0 up',
    'link set veth0123456789 type bridge_slave hairpin on',
    'route replace 10.244.0.2/32 dev cbr0',
    'route replace fd00::2/128 dev cbr0',
  ])
  expect(podLines(IPS, CIDRS)).toEqual([
    'link set lo up',
    'link set eth0 up',
    'addr add 10.244.0.2/32 dev eth0',
    'addr add fd00::2/128 dev eth0 nodad',
    'route add 10.244.0.1/32 dev eth0',
    'route add 0.0.0.0/0 via 10.244.0.1 dev eth0',
    'route add fd00::1/128 dev eth0',
    'route add ::/0 via fd00::1 dev eth0',
  ])
})
