import { afterEach, beforeEach, test } from 'vitest'
import { type Alteration, expectNamed } from '../../support/explain/alteration.ts'
import type { LabPacket } from '../../support/explain/predict.ts'
import type { Deployment } from '../../support/flows/deploy.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/** The same as `differences.test.ts` for virtual servers, real servers and sets of ipvs mode. */
const lab = useLab()
beforeEach(() => lab().reset())
afterEach(() => lab().daemon.signal('SIGCONT'))

const VIP = '172.30.41.1'
const VS = `${VIP}:80`
const POD: LabPacket = { from: 'pod', src: '10.0.0.2', dst: VIP, port: 80 }
const OUTSIDE: LabPacket = { from: 'outside', src: '203.0.113.2', dst: VIP, port: 80 }
const TWO: Deployment = {
  key: 'ns/two',
  clusterIP: VIP,
  endpoints: [{ ip: '10.180.0.1' }, { ip: '10.180.2.1', node: 'far' }],
}

const ALTERATIONS: readonly Alteration[] = [
  {
    name: 'every virtual server is deleted',
    run: ['ipvsadm -C'],
    named: /it gets no answer: socket: .*172\.30\.41\.1 is not an address of this node/,
  },
  {
    name: 'the virtual server is deleted',
    run: [`ipvsadm -D -t ${VS}`],
    named: /it gets no answer: socket: .*172\.30\.41\.1 is not an address of this node/,
  },
  {
    name: 'a real server is deleted',
    run: [`ipvsadm -d -t ${VS} -r 10.180.2.1:80`],
    named: /10\.180\.2\.1:80 never gets a packet/,
  },
  {
    name: 'all real servers are deleted',
    run: [`ipvsadm -d -t ${VS} -r 10.180.2.1:80`, `ipvsadm -d -t ${VS} -r 10.180.0.1:80`],
    named: /it gets no answer: ipvs: no real server/,
  },
  {
    name: 'a real server gets weight 0',
    run: [`ipvsadm -e -t ${VS} -r 10.180.2.1:80 -m -w 0`],
    named: /10\.180\.2\.1:80 never gets a packet/,
  },
  {
    name: 'a real server gets another weight',
    run: [`ipvsadm -E -t ${VS} -s wrr`, `ipvsadm -e -t ${VS} -r 10.180.2.1:80 -m -w 3`],
    named: /10\.180\.2\.1:80 gets 75 % of connections instead of 50 %/,
  },
  {
    name: 'a real server that is not ours',
    run: [`ipvsadm -a -t ${VS} -r 10.180.2.66:80 -m`],
    losesReplies: true,
    named: /10\.180\.2\.66:80 is not a backend of the Service, but gets the packet/,
  },
  {
    name: 'another way of forwarding',
    run: [`ipvsadm -e -t ${VS} -r 10.180.2.1:80 -g -w 1`],
    named: /what happens is not known: forwarding method/,
  },
  {
    name: 'the address is missing in the set of Services',
    run: [`ipset del NPVS-4-SERVICES ${VIP},tcp:80`],
    named: /172\.30\.41\.1:80 is not a backend/,
  },
  {
    name: 'the address is in the set of those that are refused',
    run: [`ipset add NPVS-4-REJECT ${VIP},tcp:80`],
    named: /expected delivery to a backend, but it is refused/,
  },
  {
    name: 'another program drops what IPVS forwards',
    run: ['iptables -I OUTPUT -d 10.180.2.1 -j DROP'],
    undo: ['iptables -D OUTPUT -d 10.180.2.1 -j DROP'],
    named: /it gets no answer: iptables[-a-z]* filter OUTPUT/,
  },
  {
    name: 'nothing is masqueraded',
    packet: OUTSIDE,
    remove: { table: 'nat', rule: /^-A POSTROUTING -j NPVS-/ },
    named: /sees the client 203\.0\.113\.2, but should see an address of this node/,
  },
  {
    name: 'IPVS does not track connections',
    packet: OUTSIDE,
    run: ['sysctl -q net.ipv4.vs.conntrack=0'],
    undo: ['sysctl -q net.ipv4.vs.conntrack=1'],
    losesReplies: true,
    named: /sees the client 203\.0\.113\.2, but should see an address of this node/,
  },
]

test.each(ALTERATIONS)('$name', async (alteration) => {
  await expectNamed(lab(), alteration, { packet: POD, service: TWO })
})
