import { afterEach, beforeEach, test } from 'vitest'
import { type Alteration, expectNamed } from '../../support/explain/alteration.ts'
import type { LabPacket } from '../../support/explain/predict.ts'
import type { Deployment } from '../../support/flows/deploy.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/** The same as `differences.test.ts` for elements and rules of nftables mode. */
const lab = useLab({ config: { mode: 'nftables', serviceCIDRs: ['172.30.99.0/24'] } })
beforeEach(() => lab().reset())
afterEach(() => lab().daemon.signal('SIGCONT'))

const VIP = '172.30.41.1'
const KEY = '172.30.41.1 . tcp . 80'
const POD: LabPacket = { from: 'pod', src: '10.0.0.2', dst: VIP, port: 80 }
const OUTSIDE: LabPacket = { from: 'outside', src: '203.0.113.2', dst: VIP, port: 80 }
const NODE_PORT: LabPacket = { ...OUTSIDE, dst: '192.168.0.2', port: 30_080 }
const BALANCER: LabPacket = { ...OUTSIDE, dst: '1.2.3.4' }
const TWO: Deployment = {
  key: 'ns/two',
  clusterIP: VIP,
  endpoints: [{ ip: '10.180.0.1' }, { ip: '10.180.2.1', node: 'far' }],
  ports: [{ name: '', port: 80, nodePort: 30_080 }],
  spec: { type: 'NodePort' },
}
const ranges = (range: string): Deployment => ({
  ...TWO,
  spec: { type: 'LoadBalancer', loadBalancerSourceRanges: [range] },
  ingress: [{ ip: '1.2.3.4' }],
})
const element = (verb: 'add' | 'delete', set: string, value: string) =>
  `nft ${verb} element ip node-proxy ${set} { ${value} }`
const foreign = (chain: string, rule: string): Pick<Alteration, 'run' | 'undo'> => ({
  run: [
    'nft add table ip foreign',
    `nft add chain ip foreign guard { type ${chain}; }`,
    `nft add rule ip foreign guard ${rule}`,
  ],
  undo: ['nft delete table ip foreign'],
})

const ALTERATIONS: readonly Alteration[] = [
  {
    name: 'the element of the ClusterIP is deleted',
    run: [element('delete', 'services', KEY)],
    named: /expected delivery to a backend, but it is refused/,
  },
  {
    name: 'all Services are deleted',
    run: ['nft flush map ip node-proxy services'],
    named: /expected delivery to a backend, but it is refused/,
  },
  {
    name: 'an endpoint is deleted',
    run: [element('delete', 'endpoints', `${KEY} . 0`)],
    named: /expected delivery to a backend, but it is refused/,
  },
  {
    name: 'an endpoint is replaced by another one',
    run: [
      element('delete', 'endpoints', `${KEY} . 0`),
      element('add', 'endpoints', `${KEY} . 0 : 10.180.2.1 . 80`),
    ],
    named: /10\.180\.0\.1:80 never gets a packet/,
  },
  {
    name: 'both base chains of PREROUTING are empty',
    run: [
      'nft flush chain ip node-proxy prerouting',
      'nft flush chain ip node-proxy prerouting-again',
    ],
    named: /expected delivery to a backend, but it is refused/,
  },
  {
    name: 'nothing is masqueraded',
    packet: OUTSIDE,
    run: ['nft flush chain ip node-proxy postrouting'],
    named: /sees the client 203\.0\.113\.2, but should see an address of this node/,
  },
  {
    name: 'the node port is deleted',
    packet: NODE_PORT,
    run: [element('delete', 'node-ports', 'tcp . 30080')],
    named: /192\.168\.0\.2:30080 is not a backend/,
  },
  {
    name: 'nothing is refused',
    service: { ...TWO, endpoints: [] },
    run: ['nft flush chain ip node-proxy unserved'],
    named: /expected a refusal, but 172\.30\.41\.1:80 gets it/,
  },
  {
    name: 'a Service range is deleted',
    packet: { ...POD, dst: '172.30.99.9' },
    run: ['nft flush set ip node-proxy service-ranges'],
    named: /expected a refusal, but 172\.30\.99\.9:80 gets it/,
  },
  {
    name: 'the limits of sources are deleted',
    packet: BALANCER,
    service: ranges('198.51.100.0/24'),
    run: ['nft flush set ip node-proxy limited-services'],
    named: /expected silence, but 10\.180\.\d\.1:80 gets it/,
  },
  {
    name: 'a range of sources is added',
    packet: BALANCER,
    service: ranges('198.51.100.0/24'),
    run: [element('add', 'source-ranges', '1.2.3.4 . tcp . 80 . 203.0.113.0/24')],
    named: /expected silence, but/,
  },
  {
    name: 'the ranges of sources are deleted',
    packet: BALANCER,
    service: ranges('203.0.113.0/24'),
    run: ['nft flush set ip node-proxy source-ranges'],
    named: /it gets no answer: nft ip node-proxy prerouting-again/,
  },
  {
    name: 'the table is deleted',
    run: ['nft delete table ip node-proxy'],
    named: /172\.30\.41\.1:80 is not a backend/,
  },
  {
    name: 'another table drops what is forwarded',
    ...foreign('filter hook forward priority 20', 'tcp dport { 80, 443 } drop'),
    named: /it gets no answer: nft ip foreign guard \(tcp dport \{ 80, 443 \} drop\)/,
  },
  {
    name: 'another table has the policy DROP',
    ...foreign('filter hook forward priority 20; policy drop', 'udp dport 53 accept'),
    named: /it gets no answer: nft ip foreign guard \(policy drop\)/,
  },
  {
    name: 'another table translates first',
    ...foreign(
      'nat hook prerouting priority -150',
      'ip daddr 172.30.41.1 tcp dport 80 dnat to 10.180.0.1:80',
    ),
    named: /10\.180\.2\.1:80 never gets a packet/,
  },
  {
    name: 'another table does not track',
    ...foreign('filter hook prerouting priority -300', 'ip daddr 172.30.41.1 notrack'),
    losesReplies: true,
    named: /172\.30\.41\.1:80 is not a backend|it is refused/,
  },
  {
    name: 'another table limits the rate',
    ...foreign('filter hook forward priority 20', 'limit rate over 5/second drop'),
    named: /what happens is not known: nft ip foreign guard: limit rate over 5\/second .*drop/,
  },
  {
    name: 'another table masquerades everything',
    ...foreign('nat hook postrouting priority 90', 'oifname != "lo" masquerade'),
    named: /but should see the client 10\.0\.0\.2/,
  },
]

test.each(ALTERATIONS)('$name', async (alteration) => {
  await expectNamed(lab(), alteration, { packet: POD, service: TWO })
})
