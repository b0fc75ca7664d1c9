import { beforeEach, describe, expect, test } from 'vitest'
import { deploy, deployAll } from '../support/flows/deploy.ts'
import { expectFlow } from '../support/flows/expect-flow.ts'
import { proxyMode } from '../support/lab/daemon-config.ts'
import { useLab } from '../support/lab/use-lab.ts'

/** What an external or load balancer address may capture, and what it never does (CVE-2020-8554). */
const lab = useLab()
beforeEach(() => lab().reset())

const VICTIM = {
  key: 'ns/victim',
  clusterIP: '172.30.18.1',
  endpoints: [{ ip: '10.180.2.1', node: 'far' }],
}
const THIEF = {
  key: 'aa/thief',
  clusterIP: '172.30.18.2',
  endpoints: [{ ip: '10.180.2.66', node: 'far' }],
}

describe.each(['externalIPs', 'loadBalancer'] as const)('as %s', (way) => {
  const claim = (ip: string, port: number) =>
    deployAll(lab(), [
      VICTIM,
      {
        ...THIEF,
        ports: [{ name: '', port }],
        ...(way === 'externalIPs' ? { spec: { externalIPs: [ip] } } : {}),
        ...(way === 'loadBalancer'
          ? { spec: { type: 'LoadBalancer' as const }, ingress: [{ ip }] }
          : {}),
      },
    ])

  test('another Service’s ClusterIP stays with its owner, and its other ports are not served', async () => {
    await claim('172.30.18.1', 80)
    const pod = { from: 'pod', src: '10.0.0.2', dst: '172.30.18.1' } as const
    const expectOwner = { outcome: 'deliver', endpoints: ['10.180.2.1:80'] } as const
    await expectFlow(lab(), { ...pod, dport: 80, expect: expectOwner })
    await claim('172.30.18.1', 443)
    // This mode answers for every port of a ClusterIP.
    const outcome = proxyMode() === 'nftables' ? 'reject' : 'unhandled'
    await expectFlow(lab(), { ...pod, dport: 443, expect: { outcome } })
  })

  test('loopback is not captured', async () => {
    await claim('127.0.0.1', 8081)
    await expectFlow(lab(), {
      from: 'localhost',
      src: '127.0.0.1',
      dst: '127.0.0.1',
      dport: 8081,
      expect: { outcome: 'unhandled' },
    })
  })

  test('link-local addresses (a cloud’s metadata server) are not captured', async () => {
    await claim('169.254.169.254', 80)
    await expectFlow(lab(), {
      from: 'pod',
      src: '10.0.0.2',
      dst: '169.254.169.254',
      dport: 80,
      expect: { outcome: 'unhandled' },
    })
  })

  test('an ordinary address is', async () => {
    await claim('198.51.100.9', 80)
    const expect = { outcome: 'deliver', endpoints: ['10.180.2.66:80'], masquerade: true } as const
    for (const [from, src] of [
      ['pod', '10.0.0.2'],
      ['external', '203.0.113.2'],
      ['node', '192.168.0.2'],
    ] as const) {
      await expectFlow(lab(), { from, src, dst: '198.51.100.9', dport: 80, expect })
    }
  })
})

test('the node’s own address works as external address, over a local listener too', async () => {
  const listener = { protocol: 'TCP', ip: '192.168.1.2', port: 443, name: 'local' } as const
  await lab().node.agent.call('listen', listener)
  await deploy(lab(), {
    ...VICTIM,
    ports: [{ name: '', port: 443 }],
    spec: { externalIPs: ['192.168.1.2'] },
  })
  const [outcome] = await lab().connect('outside', {
    source: '203.0.113.2',
    destination: '192.168.1.2',
    port: 443,
  })
  expect(outcome).toMatchObject({ kind: 'answered', name: '10.180.2.1:443' })
})

test('two Services that claim one address: the first by name has it, in whatever order they came', async () => {
  const claimed = { spec: { externalIPs: ['198.51.100.10'] } }
  const flow = { from: 'external', src: '203.0.113.2', dst: '198.51.100.10', dport: 80 } as const
  await deploy(lab(), { ...VICTIM, ...claimed })
  await expectFlow(lab(), { ...flow, expect: { outcome: 'deliver', endpoints: ['10.180.2.1:80'] } })
  await deploy(lab(), { ...THIEF, ...claimed })
  await expectFlow(lab(), {
    ...flow,
    expect: { outcome: 'deliver', endpoints: ['10.180.2.66:80'] },
  })
  await lab().api.remove('Service', THIEF.key)
  await lab().daemon.synced()
  await expectFlow(lab(), { ...flow, expect: { outcome: 'deliver', endpoints: ['10.180.2.1:80'] } })
})
