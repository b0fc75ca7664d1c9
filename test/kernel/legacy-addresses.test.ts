import { expect, test } from 'vitest'
import { type Deployment, deploy, objectsOf } from '../support/flows/deploy.ts'
import { expectFlow } from '../support/flows/expect-flow.ts'
import { useLab } from '../support/lab/use-lab.ts'

/** Addresses with leading zeros, as old API servers stored them, are read as decimal. */
const lab = useLab()

const IP = '10.180.0.10'
const DEPLOYMENT: Deployment = {
  key: 'ns/old',
  clusterIP: '172.30.25.10',
  endpoints: [{ ip: IP }],
  spec: {
    type: 'LoadBalancer',
    externalIPs: ['198.51.100.10'],
    loadBalancerSourceRanges: ['203.0.113.0/24'],
  },
  ingress: [{ ip: '1.2.3.10' }],
}
const LEGACY: Deployment = {
  ...DEPLOYMENT,
  clusterIP: '172.030.25.010',
  endpoints: [{ ip: '010.180.000.010' }],
  spec: {
    ...DEPLOYMENT.spec,
    externalIPs: ['198.51.100.010'],
    loadBalancerSourceRanges: ['203.0.113.000/024'],
  },
  ingress: [{ ip: '001.002.003.010' }],
}

test('clusterIP, externalIP, load balancer IP, ranges and endpoint', async () => {
  await deploy(lab(), DEPLOYMENT)
  await lab().api.apply(...objectsOf(LEGACY))
  await lab().daemon.synced()
  const served = { outcome: 'deliver', endpoints: [`${IP}:80`] } as const
  const outside = { from: 'external', src: '203.0.113.2', dport: 80 } as const
  const pod = { from: 'pod', src: '10.0.0.2', dst: '172.30.25.10', dport: 80 } as const
  await expectFlow(lab(), { ...pod, expect: served })
  for (const dst of ['198.51.100.10', '1.2.3.10']) {
    await expectFlow(lab(), { ...outside, dst, expect: served })
  }
  const elsewhere = { ...outside, src: '198.51.7.7', dst: '1.2.3.10' }
  await expectFlow(lab(), { ...elsewhere, expect: { outcome: 'drop' } })
  // 010 in octal
  await expectFlow(lab(), { ...pod, dst: '172.24.25.8', expect: { outcome: 'unhandled' } })
  const warnings =
    lab()
      .daemon.logs()
      .match(/must not have leading zeros/g) ?? []
  expect(warnings).toHaveLength(5)
})
