import type { Lab } from '../lab/lab.ts'
import { type ApiObject, service } from '../lab/objects.ts'
import { expectFlow } from './expect-flow.ts'

const VIP = '172.30.21.1'
const IPS = ['10.180.2.1', '10.180.2.2', '10.180.2.3'] as const

/** Long enough for informers, whose pause grows with each failure. */
const RETRY_SECONDS = 60

export interface FollowsPods {
  /** How often the API server is killed with -9: once or twice. */
  readonly kills: number
  /** Node of the Pods; none unless given. */
  readonly nodeName?: string
}

/**
 * A Service with a selector forwards to its Pod, and to the next one after the API server was
 * killed; meanwhile it forwards as before.
 */
export async function expectFollowsPods(lab: Lab, { kills, nodeName }: FollowsPods): Promise<void> {
  for (const ip of IPS) {
    await lab.serve({ ip, local: false, ports: [{ protocol: 'TCP', port: 80 }] })
  }
  const spec = { clusterIP: VIP, selector: { app: 'web' }, ports: [{ port: 80 }] }
  await lab.api.apply(service('ns/web', spec), readyPod(IPS[0], nodeName))
  await expectServedBy(lab, IPS[0], RETRY_SECONDS)
  for (const [i, after] of IPS.slice(1, kills + 1).entries()) {
    const before = IPS[i]!
    await lab.apiServer.hangUp()
    await expectServedBy(lab, before, 0)
    await lab.apiServer.answerAgain()
    await lab.api.apply(readyPod(after, nodeName))
    await lab.api.remove('Pod', `ns/pod-${before}`)
    await expectServedBy(lab, after, RETRY_SECONDS)
  }
}

function readyPod(ip: string, nodeName?: string): ApiObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `pod-${ip}`, namespace: 'ns', labels: { app: 'web' } },
    spec: { containers: [{ name: 'c', image: 'none' }], ...(nodeName && { nodeName }) },
    status: {
      phase: 'Running',
      podIP: ip,
      podIPs: [{ ip }],
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  }
}

function expectServedBy(lab: Lab, ip: string, retrySeconds: number): Promise<void> {
  const flow = { from: 'pod', src: '10.0.0.2', dst: VIP, dport: 80, retrySeconds } as const
  return expectFlow(lab, { ...flow, expect: { outcome: 'deliver', endpoints: [`${ip}:80`] } })
}
