import { beforeAll, describe, expect, test } from 'vitest'
import { type BrokenNode, expectFound } from '../../support/doctor/broken-node.ts'
import { nodeFindings } from '../../support/doctor/node-findings.ts'
import { SERVICES } from '../../support/doctor/services.ts'
import { deployAll } from '../../support/flows/deploy.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/** `node-proxy doctor` finds the right cause first, and nothing on a healthy node. */
const lab = useLab()
beforeAll(() => deployAll(lab(), SERVICES))

const BROKEN: readonly BrokenNode[] = [
  {
    name: 'the node does not forward',
    run: ['sysctl -q net.ipv4.ip_forward=0'],
    undo: ['sysctl -q net.ipv4.ip_forward=1'],
    check: 'forwarding-off',
    cause: /does not forward IPv4: net\.ipv4\.ip_forward is 0/,
  },
  {
    name: 'a chain of nftables drops what is forwarded',
    run: [
      'nft add table inet firewall',
      'nft add chain inet firewall forward { type filter hook forward priority 5; }',
      'nft add rule inet firewall forward ip daddr 10.180.0.1 tcp dport 80 counter drop',
    ],
    undo: ['nft delete table inet firewall'],
    check: 'node-firewall',
    cause: /drops packets to Services: nft inet firewall forward: .*daddr 10\.180\.0\.1/,
    seen: /from 10\.180\.0\.2 by cbr0 to 172\.30\.41\.1:80 \(clusterIP of ns\/two\): silent/,
  },
  {
    name: 'a port of the bridge has a smaller MTU',
    run: ['ip link set pod0 mtu 1400', 'ip link set cbr0 mtu 1500'],
    undo: ['ip link set pod0 mtu 1500'],
    check: 'interface-mtu',
    cause: /bridge cbr0 has MTU 1500, but 1 of its ports have less/,
    seen: /pod0: MTU 1400/,
  },
]

describe('the first finding', () => {
  test.each(BROKEN)('$name', (broken) => expectFound(lab(), broken))
})

test('a healthy node: nothing', async () => {
  expect(await nodeFindings(lab(), '--connect')).toEqual([])
})
