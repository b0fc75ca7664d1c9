import { beforeEach, describe, expect, test } from 'vitest'
import { deploy } from '../support/flows/deploy.ts'
import { expectFlow } from '../support/flows/expect-flow.ts'
import { ipOf } from '../support/flows/judge.ts'
import { isUserspace } from '../support/lab/daemon-config.ts'
import { useLab } from '../support/lab/use-lab.ts'

/** Both ways a packet may return to its pod: bridged (bridge-nf-call-iptables=1) or routed. */
describe.each([true, false])('bridge-nf-call-iptables %s', (bridgeNetfilter) => {
  const lab = useLab({ bridgeNetfilter })
  beforeEach(() => lab().reset())

  test.each([
    { family: 4, ip: '10.180.0.1', clusterIP: '172.30.11.1' },
    { family: 6, ip: 'fd00:10::180:1', clusterIP: 'fd00:172:30::11:1' },
  ])('a pod of an IPv$family Service reaches itself', async ({ ip, clusterIP }) => {
    await deploy(lab(), { key: 'ns/self', clusterIP, endpoints: [{ ip }] })
    await expectFlow(lab(), {
      from: 'endpoint',
      src: ip,
      dst: clusterIP,
      dport: 80,
      expect: { outcome: 'deliver', endpoints: [nameOf(ip)], masquerade: true },
    })
  })

  test('over UDP, and on a port other than the Service’s', async () => {
    await deploy(lab(), {
      key: 'ns/self',
      clusterIP: '172.30.11.1',
      endpoints: [{ ip: '10.180.0.1' }],
      ports: [{ name: '', port: 53, protocol: 'UDP', targetPort: 5353 }],
    })
    await expectFlow(lab(), {
      from: 'endpoint',
      src: '10.180.0.1',
      proto: 'UDP',
      dst: '172.30.11.1',
      dport: 53,
      expect: { outcome: 'deliver', endpoints: ['10.180.0.1:5353'], masquerade: true },
    })
  })

  test('through a node port and a load balancer address', async () => {
    await deploy(lab(), {
      key: 'ns/self',
      clusterIP: '172.30.11.1',
      endpoints: [{ ip: '10.180.0.1' }],
      ports: [{ name: '', port: 80, nodePort: 30080 }],
      spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local' },
      ingress: [{ ip: '1.2.3.4' }],
    })
    const self = { from: 'endpoint', src: '10.180.0.1' } as const
    const expect = { outcome: 'deliver', endpoints: ['10.180.0.1:80'], masquerade: true } as const
    await expectFlow(lab(), { ...self, dst: '192.168.0.2', dport: 30080, expect })
    await expectFlow(lab(), { ...self, dst: '1.2.3.4', dport: 80, expect })
  })

  test.skipIf(isUserspace())('its neighbours see it unmasqueraded', async () => {
    const endpoints = [{ ip: '10.180.0.1' }, { ip: '10.180.0.2' }]
    await deploy(lab(), { key: 'ns/pair', clusterIP: '172.30.11.2', endpoints })
    const outcomes = await lab().connect('pod', {
      source: '10.180.0.1',
      destination: '172.30.11.2',
      port: 80,
      attempts: 60,
      timeoutMs: 3000,
    })
    const nodes = await lab().nodeAddresses()
    const seenBy = (name: string): boolean[] =>
      outcomes.flatMap((o) =>
        o.kind === 'answered' && o.name === name ? nodes.has(ipOf(o.peer)) : [],
      )
    expect(new Set(seenBy('10.180.0.1:80'))).toEqual(new Set([true]))
    expect(new Set(seenBy('10.180.0.2:80'))).toEqual(new Set([false]))
    expect(outcomes.filter(({ kind }) => kind !== 'answered')).toEqual([])
  })
})

function nameOf(ip: string): string {
  return ip.includes(':') ? `[${ip}]:80` : `${ip}:80`
}
