import { describe, test } from 'vitest'
import { hasEtcd } from '../../support/etcd/has-etcd.ts'
import { expectFlow } from '../../support/flows/expect-flow.ts'
import { type ApiObject, service } from '../../support/lab/objects.ts'
import type { OrchServerKind } from '../../support/lab/orch-server.ts'
import { useLab } from '../../support/lab/use-lab.ts'

const VIP = '172.30.21.1'
const IPS = ['10.180.2.1', '10.180.2.2', '10.180.2.3'] as const

/** On etcd a killed leader is followed after 15 s only, so one kill must do. */
const KINDS: readonly { readonly api: OrchServerKind; readonly kills: number }[] = [
  { api: 'orch-server', kills: 2 },
  ...(hasEtcd() ? [{ api: 'orch-server on etcd', kills: 1 } as const] : []),
]

function readyPod(ip: string): ApiObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `pod-${ip}`, namespace: 'ns', labels: { app: 'web' } },
    spec: { containers: [{ name: 'c', image: 'none' }] },
    status: {
      phase: 'Running',
      podIP: ip,
      podIPs: [{ ip }],
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  }
}

describe.each(KINDS)('$api', ({ api, kills }) => {
  const lab = useLab({ api })

  function expectServedBy(ip: string, retrySeconds: number): Promise<void> {
    const flow = { from: 'pod', src: '10.0.0.2', dst: VIP, dport: 80, retrySeconds } as const
    return expectFlow(lab(), { ...flow, expect: { outcome: 'deliver', endpoints: [`${ip}:80`] } })
  }

  test('follows its Pods across kill -9 of the server; rules stay meanwhile', async () => {
    for (const ip of IPS) {
      await lab().serve({ ip, local: false, ports: [{ protocol: 'TCP', port: 80 }] })
    }
    const spec = { clusterIP: VIP, selector: { app: 'web' }, ports: [{ port: 80 }] }
    await lab().api.apply(service('ns/web', spec), readyPod(IPS[0]))
    await expectServedBy(IPS[0], 30)
    for (const [i, after] of IPS.slice(1, kills + 1).entries()) {
      const before = IPS[i]!
      await lab().apiServer.hangUp()
      await expectServedBy(before, 0)
      await lab().apiServer.answerAgain()
      await lab().api.apply(readyPod(after))
      await lab().api.remove('Pod', `ns/pod-${before}`)
      await expectServedBy(after, 30)
    }
  })
})
