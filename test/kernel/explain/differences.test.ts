import { afterEach, beforeEach, test } from 'vitest'
import { type Alteration, expectNamed } from '../../support/explain/alteration.ts'
import type { LabPacket } from '../../support/explain/predict.ts'
import type { Deployment } from '../../support/flows/deploy.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/**
 * Explain names the difference when something in the kernel is removed or altered by hand. The daemon is stopped
 * meanwhile: it repairs its own rules at once.
 */
const lab = useLab()
beforeEach(() => lab().reset())
afterEach(() => lab().daemon.signal('SIGCONT'))

const VIP = '172.30.41.1'
const POD: LabPacket = { from: 'pod', src: '10.0.0.2', dst: VIP, port: 80 }
const OUTSIDE: LabPacket = { from: 'outside', src: '203.0.113.2', dst: VIP, port: 80 }
const NODE_PORT: LabPacket = { ...OUTSIDE, dst: '192.168.0.2', port: 30_080 }
const TWO: Deployment = {
  key: 'ns/two',
  clusterIP: VIP,
  endpoints: [{ ip: '10.180.0.1' }, { ip: '10.180.2.1', node: 'far' }],
  ports: [{ name: '', port: 80, nodePort: 30_080 }],
  spec: { type: 'NodePort' },
}
const RANGES: Deployment = {
  ...TWO,
  spec: { type: 'LoadBalancer', loadBalancerSourceRanges: ['198.51.100.0/24'] },
  ingress: [{ ip: '1.2.3.4' }],
}
const BALANCER: LabPacket = { ...OUTSIDE, dst: '1.2.3.4' }

const DISPATCH = / -d 172\.30\.41\.1\/32 .*--dport 80 -g NPROXY-C-/
/** Whatever the rules of nat leave as it was. */
const UNTRANSLATED = /it gets no answer: iptables filter NPROXY-FILTER-VIPS .*-j DROP/
const ALTERATIONS: readonly Alteration[] = [
  {
    name: 'the rule of the ClusterIP is deleted',
    remove: { table: 'nat', rule: DISPATCH },
    named: UNTRANSLATED,
  },
  {
    name: 'the first backend is deleted',
    remove: { table: 'nat', rule: /--to-destination 10\.180\.0\.1:80/ },
    named: /the backend 10\.180\.0\.1:80 never gets a packet/,
  },
  {
    name: 'the last backend is deleted',
    remove: { table: 'nat', rule: /--to-destination 10\.180\.2\.1:80/ },
    named: UNTRANSLATED,
  },
  {
    name: 'a backend is replaced by another one',
    remove: { table: 'nat', rule: /--to-destination 10\.180\.0\.1:80/ },
    by: ['10.180.0.1:80', '10.180.2.1:80'],
    named: /10\.180\.0\.1:80 never gets a packet\n.*10\.180\.2\.1:80 gets 100 % of/,
  },
  {
    name: 'a backend gets another share',
    remove: { table: 'nat', rule: /--probability 0\.5/ },
    by: [/--probability \S+/, '--probability 0.9'],
    named: /10\.180\.0\.1:80 gets 90 % of connections instead of 50 %/,
  },
  {
    name: 'the jump from PREROUTING is deleted',
    remove: { table: 'nat', rule: /^-A PREROUTING -j NPROXY-SERVICES/ },
    named: UNTRANSLATED,
  },
  {
    name: 'the jump to the addresses of Services is deleted',
    remove: { table: 'nat', rule: /^-A NPROXY-SERVICES -j NPROXY-VIPS/ },
    named: UNTRANSLATED,
  },
  {
    name: 'the mark for masquerading is deleted',
    packet: OUTSIDE,
    remove: { table: 'nat', rule: / ! -s 10\.0\.0\.0\/8 -d 172\.30\.41\.1\/32 -j MARK/ },
    named: /sees the client 203\.0\.113\.2, but should see an address of this node/,
  },
  {
    name: 'MASQUERADE is deleted',
    packet: OUTSIDE,
    remove: { table: 'nat', rule: /^-A NPROXY-POSTROUTING -j MASQUERADE/ },
    named: /sees the client 203\.0\.113\.2/,
  },
  {
    name: 'the jump from POSTROUTING is deleted',
    packet: OUTSIDE,
    remove: { table: 'nat', rule: /^-A POSTROUTING -j NPROXY-POSTROUTING/ },
    named: /sees the client 203\.0\.113\.2/,
  },
  {
    name: 'the node port is deleted',
    packet: NODE_PORT,
    remove: { table: 'nat', rule: /--dport 30080 / },
    named: /192\.168\.0\.2:30080 is not a backend/,
  },
  {
    name: 'the refusal of a Service without endpoints is deleted',
    service: { ...TWO, endpoints: [] },
    remove: {
      table: 'filter',
      rule: / -d 172\.30\.41\.1\/32 .*-j REJECT| -d 172\.30\.41\.1\/32 .*-g /,
    },
    named: /expected a refusal, but 172\.30\.41\.1:80 gets it/,
  },
  {
    name: 'the source ranges are deleted',
    service: RANGES,
    packet: BALANCER,
    remove: { table: 'filter', rule: /1\.2\.3\.4/ },
    named: /expected silence, but/,
  },
  {
    name: 'another program drops packets to a backend',
    run: ['iptables -I FORWARD -d 10.180.0.1 -j DROP'],
    undo: ['iptables -D FORWARD -d 10.180.0.1 -j DROP'],
    named: /it gets no answer: .*FORWARD.*-d 10\.180\.0\.1\/32 -j DROP/,
  },
  {
    name: 'another program rejects what is forwarded',
    run: ['iptables -I FORWARD -p tcp -j REJECT'],
    undo: ['iptables -D FORWARD -p tcp -j REJECT'],
    named: /expected delivery to a backend, but it is refused \(icmp-port-unreachable\)/,
  },
  {
    name: 'another program drops the address before it is translated',
    run: ['iptables -t raw -I PREROUTING -d 172.30.41.1 -j DROP'],
    undo: ['iptables -t raw -D PREROUTING -d 172.30.41.1 -j DROP'],
    named: /it gets no answer: .*raw PREROUTING/,
  },
  {
    name: 'another program does not track the connection',
    run: ['iptables -t raw -I PREROUTING -d 172.30.41.1 -j CT --notrack'],
    undo: ['iptables -t raw -D PREROUTING -d 172.30.41.1 -j CT --notrack'],
    named: /172\.30\.41\.1:80 is not a backend/,
    // The reply belongs to no connection, so that the rules of node-proxy drop it.
    losesReplies: true,
  },
  {
    name: 'another program translates first',
    run: [
      'iptables -t nat -I PREROUTING -d 172.30.41.1 -p tcp -j DNAT --to-destination 10.180.0.1:80',
    ],
    undo: [
      'iptables -t nat -D PREROUTING -d 172.30.41.1 -p tcp -j DNAT --to-destination 10.180.0.1:80',
    ],
    named: /10\.180\.2\.1:80 never gets a packet/,
  },
  {
    name: 'another program replaces the source',
    run: ['iptables -t nat -I POSTROUTING -d 10.180.0.1 -j SNAT --to-source 192.168.0.2'],
    undo: ['iptables -t nat -D POSTROUTING -d 10.180.0.1 -j SNAT --to-source 192.168.0.2'],
    named: /10\.180\.0\.1:80 sees 192\.168\.0\.2, but should see the client 10\.0\.0\.2/,
  },
  {
    name: 'another program uses the mark of node-proxy',
    run: ['iptables -t mangle -I FORWARD -s 10.0.0.2 -j MARK --set-xmark 0x4000/0x4000'],
    undo: ['iptables -t mangle -D FORWARD -s 10.0.0.2 -j MARK --set-xmark 0x4000/0x4000'],
    named: /but should see the client 10\.0\.0\.2/,
  },
  {
    name: 'another program limits the rate',
    run: ['iptables -I FORWARD -m limit --limit 1/s -j RETURN'],
    undo: ['iptables -D FORWARD -m limit --limit 1/s -j RETURN'],
    named: /what happens is not known: .*limit/,
  },
  {
    name: 'the policy of FORWARD is DROP, and nothing accepts',
    remove: { table: 'filter', rule: /^-A FORWARD -j NPROXY-FORWARD/ },
    run: ['iptables -P FORWARD DROP'],
    undo: ['iptables -P FORWARD ACCEPT'],
    named: /it gets no answer: .*FORWARD/,
  },
  {
    name: 'a chain of nftables stands in the way',
    run: [
      'nft add table inet foreign',
      'nft add chain inet foreign guard { type filter hook forward priority 5; }',
      'nft add rule inet foreign guard ip daddr 10.180.0.1 tcp dport 80 counter drop',
    ],
    undo: ['nft delete table inet foreign'],
    named: /it gets no answer: nft inet foreign guard .*ip daddr 10\.180\.0\.1 .*drop/,
  },
  {
    name: 'a route swallows a backend',
    run: ['ip route add blackhole 10.180.2.1/32'],
    undo: ['ip route del blackhole 10.180.2.1/32'],
    named: /it gets no answer: route/,
  },
  {
    name: 'a policy rule prohibits a backend',
    run: ['ip rule add to 10.180.2.1/32 prohibit priority 77'],
    undo: ['ip rule del to 10.180.2.1/32 prohibit priority 77'],
    named: /expected delivery to a backend, but it is refused|it gets no answer: route/,
  },
  {
    name: 'the node does not forward',
    run: ['sysctl -q net.ipv4.conf.cbr0.forwarding=0'],
    undo: ['sysctl -q net.ipv4.conf.cbr0.forwarding=1'],
    named: /it gets no answer: route: .*forward/,
  },
]

test.each(ALTERATIONS)('$name', async (alteration) => {
  await expectNamed(lab(), alteration, { packet: POD, service: TWO })
})
