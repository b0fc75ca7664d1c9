import { beforeEach, describe, test } from 'vitest'
import { type Deployment, deploy } from '../support/flows/deploy.ts'
import { expectFlow } from '../support/flows/expect-flow.ts'
import { useLab } from '../support/lab/use-lab.ts'

/** Who may use a load balancer address, whichever way the ranges are written. */
const lab = useLab()
beforeEach(() => lab().reset())

interface FrontendCase {
  readonly way: string
  readonly spec?: Deployment['spec']
  readonly annotations?: Readonly<Record<string, string>>
}

const WAYS: readonly FrontendCase[] = [
  { way: 'the field', spec: { loadBalancerSourceRanges: ['203.0.113.0/25', '2600:5200::/64'] } },
  {
    way: 'the annotation of this platform',
    annotations: {
      'service.beta.orch.io/load-balancer-source-ranges': '203.0.113.0/25, 2600:5200::/64',
    },
  },
  {
    way: 'the annotation of Kubernetes',
    annotations: {
      'service.beta.kubernetes.io/load-balancer-source-ranges': ' 203.0.113.0/25 ,2600:5200::/64',
    },
  },
]

describe.each(WAYS)('ranges by $way', ({ spec, annotations }) => {
  test('IPv4: members pass, all others meet silence', async () => {
    await deploy(lab(), {
      key: 'ns/ranges',
      clusterIP: '172.30.19.1',
      endpoints: [{ ip: '10.180.2.1', node: 'far' }],
      spec: { type: 'LoadBalancer', ...spec },
      ingress: [{ ip: '1.2.3.4' }],
      ...(annotations === undefined ? {} : { annotations }),
    })
    const lb = { dst: '1.2.3.4', dport: 80 }
    const deliver = { outcome: 'deliver', endpoints: ['10.180.2.1:80'], masquerade: true } as const
    await expectFlow(lab(), { ...lb, from: 'external', src: '203.0.113.2', expect: deliver })
    const drop = { outcome: 'drop' } as const
    await expectFlow(lab(), { ...lb, from: 'externalBlocked', src: '203.0.113.130', expect: drop })
    await expectFlow(lab(), { ...lb, from: 'pod', src: '10.0.0.2', expect: drop })
    await expectFlow(lab(), { ...lb, from: 'node', src: '192.168.0.2', expect: drop })
  })

  test('IPv6: only ranges of its family count', async () => {
    await deploy(lab(), {
      key: 'ns/ranges-v6',
      clusterIP: 'fd00:172:30::19:1',
      endpoints: [{ ip: 'fd00:10:2::1', node: 'far' }],
      spec: { type: 'LoadBalancer', ...spec },
      ingress: [{ ip: '2001:db8:99::4' }],
      ...(annotations === undefined ? {} : { annotations }),
    })
    const lb = { dst: '2001:db8:99::4', dport: 80 }
    const deliver = {
      outcome: 'deliver',
      endpoints: ['[fd00:10:2::1]:80'],
      masquerade: true,
    } as const
    await expectFlow(lab(), { ...lb, from: 'external', src: '2600:5200::1', expect: deliver })
    const drop = { outcome: 'drop' } as const
    await expectFlow(lab(), { ...lb, from: 'externalBlocked', src: '2600:5300::1', expect: drop })
  })
})

test('ranges go before policy Local and before the refusal of an empty Service', async () => {
  await deploy(lab(), {
    key: 'ns/empty',
    clusterIP: '172.30.19.2',
    endpoints: [],
    spec: { type: 'LoadBalancer', loadBalancerSourceRanges: ['203.0.113.0/25'] },
    ingress: [{ ip: '1.2.3.5' }],
  })
  const lb = { dst: '1.2.3.5', dport: 80 }
  const [member, foreign] = ['203.0.113.2', '203.0.113.130'] as const
  await expectFlow(lab(), { ...lb, from: 'external', src: member, expect: { outcome: 'reject' } })
  await expectFlow(lab(), { ...lb, from: 'external', src: foreign, expect: { outcome: 'drop' } })
})

test('ranges of which none can be read admit no source', async () => {
  await deploy(lab(), {
    key: 'ns/unreadable',
    clusterIP: '172.30.19.3',
    endpoints: [{ ip: '10.180.0.3' }],
    spec: { type: 'LoadBalancer', loadBalancerSourceRanges: ['203.0.113.0/33', 'all'] },
    ingress: [{ ip: '1.2.3.6' }],
  })
  const drop = { outcome: 'drop' } as const
  const lb = { dst: '1.2.3.6', dport: 80, expect: drop }
  await expectFlow(lab(), { ...lb, from: 'external', src: '203.0.113.2' })
  await expectFlow(lab(), { ...lb, from: 'pod', src: '10.0.0.2' })
})

test('taking the ranges away opens the address, setting them closes it for new connections', async () => {
  const deployment = {
    key: 'ns/ranges',
    clusterIP: '172.30.19.1',
    endpoints: [{ ip: '10.180.0.1' }],
    ingress: [{ ip: '1.2.3.4' }],
  }
  const flow = { from: 'external', src: '203.0.113.130', dst: '1.2.3.4', dport: 80 } as const
  const deliver = { outcome: 'deliver', endpoints: ['10.180.0.1:80'], masquerade: false } as const
  const open = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' } as const
  await deploy(lab(), { ...deployment, spec: open })
  await expectFlow(lab(), { ...flow, expect: deliver })
  const closed = { ...open, loadBalancerSourceRanges: ['203.0.113.0/25'] }
  await deploy(lab(), { ...deployment, spec: closed })
  await expectFlow(lab(), { ...flow, expect: { outcome: 'drop' } })
  await deploy(lab(), { ...deployment, spec: open })
  await expectFlow(lab(), { ...flow, expect: deliver })
})
