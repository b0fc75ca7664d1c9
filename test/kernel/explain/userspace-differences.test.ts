import { afterEach, beforeEach, test } from 'vitest'
import { type Alteration, expectNamed } from '../../support/explain/alteration.ts'
import type { LabPacket } from '../../support/explain/predict.ts'
import type { Deployment } from '../../support/flows/deploy.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/** The same as `differences.test.ts` for what leads packets to the forwarder of userspace mode. */
const lab = useLab({ config: { mode: 'userspace' } })
beforeEach(() => lab().reset())
afterEach(() => lab().daemon.signal('SIGCONT'))

const VIP = '172.30.41.1'
const POD: LabPacket = { from: 'pod', src: '10.0.0.2', dst: VIP, port: 80 }
const TWO: Deployment = {
  key: 'ns/two',
  clusterIP: VIP,
  endpoints: [{ ip: '10.180.0.1' }, { ip: '10.180.2.1', node: 'far' }],
}

const ALTERATIONS: readonly Alteration[] = [
  {
    name: 'the address is missing in the set of Services',
    run: [`ipset del NPUS-4-SERVICES ${VIP},tcp:80`],
    named: /172\.30\.41\.1:80 is not a backend/,
  },
  {
    name: 'the set of Services is empty',
    run: ['ipset flush NPUS-4-SERVICES'],
    named: /172\.30\.41\.1:80 is not a backend/,
  },
  {
    name: 'the address is in the set of those that are refused',
    service: TWO,
    run: [`ipset add NPUS-4-REJECT ${VIP},tcp:80`],
    named: /expected delivery to a backend, but it is refused/,
  },
  {
    name: 'the jumps from PREROUTING are deleted',
    remove: { table: 'nat', rule: /^-A PREROUTING / },
    named: /it gets no answer: iptables mangle NPUS-HOLD/,
  },
  {
    name: 'another program drops what is for this node',
    run: ['iptables -I INPUT -i cbr0 -p tcp -j DROP'],
    undo: ['iptables -D INPUT -i cbr0 -p tcp -j DROP'],
    named: /it gets no answer: iptables filter INPUT \(-A INPUT -i cbr0 -p tcp -j DROP\)/,
  },
  {
    name: 'another program redirects to its own port',
    run: ['iptables -t nat -I PREROUTING -d 172.30.41.1 -p tcp -j REDIRECT --to-ports 9'],
    undo: ['iptables -t nat -D PREROUTING -d 172.30.41.1 -p tcp -j REDIRECT --to-ports 9'],
    named: /it gets no answer: iptables mangle NPUS-HOLD/,
  },
]

test.each(ALTERATIONS)('$name', async (alteration) => {
  await expectNamed(lab(), alteration, { packet: POD, service: TWO })
})
