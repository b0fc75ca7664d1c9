import { describe, test } from 'vitest'
import { expectFlow } from '../support/flows/expect-flow.ts'
import type { ApiKind } from '../support/lab/api-server.ts'
import { type ApiObject, service, slice } from '../support/lab/objects.ts'
import { useLab } from '../support/lab/use-lab.ts'

/** The same Service from every kind of API server that a cluster may have. */
const VIP = '172.30.20.1'

const KINDS: readonly (readonly [ApiKind, (ips: readonly string[]) => ApiObject])[] = [
  ['slices-v1', slicesV1],
  ['slices-v1beta1', slicesV1beta1],
  ['endpoints', endpoints],
  ['real', slicesV1],
]

function slicesV1(ips: readonly string[]): ApiObject {
  return slice(
    'ns/any',
    ips.map((ip) => ({ ip, node: 'far' })),
  )
}

function slicesV1beta1(ips: readonly string[]): ApiObject {
  const current = slicesV1(ips)
  const old = ips.map((ip) => ({
    addresses: [ip],
    conditions: { ready: true },
    topology: { 'kubernetes.io/hostname': 'far' },
  }))
  return { ...current, apiVersion: 'discovery.k8s.io/v1beta1', endpoints: old }
}

function endpoints(ips: readonly string[]): ApiObject {
  const addresses = ips.map((ip) => ({ ip, nodeName: 'far' }))
  const ports = [{ port: 80, protocol: 'TCP' }]
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'any', namespace: 'ns' },
    subsets: ips.length === 0 ? [] : [{ addresses, ports }],
  }
}

describe.each(KINDS)('an API server with %s', (api, backends) => {
  const lab = useLab({ api })

  test('is understood: endpoints come, change and go', async () => {
    for (const ip of ['10.180.2.1', '10.180.2.2', '10.180.2.3']) {
      await lab().serve({ ip, local: false, ports: [{ protocol: 'TCP', port: 80 }] })
    }
    const flow = { from: 'pod', src: '10.0.0.2', dst: VIP, dport: 80 } as const
    const ports = [{ port: 80, protocol: 'TCP' }] as const
    await lab().api.apply(service('ns/any', { clusterIP: VIP, ports }))
    for (const ips of [['10.180.2.1'], ['10.180.2.2', '10.180.2.3']]) {
      await lab().api.apply(backends(ips))
      await lab().daemon.synced()
      const names = ips.map((ip) => `${ip}:80`)
      await expectFlow(lab(), { ...flow, expect: { outcome: 'deliver', endpoints: names } })
    }
    await lab().api.apply(backends([]))
    await lab().daemon.synced()
    await expectFlow(lab(), { ...flow, expect: { outcome: 'reject' } })
  })
})
