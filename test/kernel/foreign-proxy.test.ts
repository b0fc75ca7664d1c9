import { expect, test } from 'vitest'
import { deploy } from '../support/flows/deploy.ts'
import { expectFlow } from '../support/flows/expect-flow.ts'
import { backendProgram } from '../support/lab/daemon-config.ts'
import type { Lab } from '../support/lab/lab.ts'
import type { Samples } from '../support/lab/metrics.ts'
import { useLab } from '../support/lab/use-lab.ts'

const lab = useLab()
const VIP = '172.30.23.1'
const INGRESS = '1.2.3.4'
const BACKEND = '10.180.0.1'
const PORTS = [10249, 10256]
const HELD = { protocol: 'TCP', ip: '0.0.0.0' } as const
const FLOW = { from: 'pod', src: '10.0.0.2', dst: VIP, dport: 80 } as const
const DELIVER = { outcome: 'deliver', endpoints: [`${BACKEND}:80`] } as const

/** Rules as kube-proxy leaves them, with a backend that is gone meanwhile. */
const STALE = `*nat
:KUBE-SERVICES - [0:0]
-I PREROUTING 1 -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-I OUTPUT 1 -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A KUBE-SERVICES -d ${VIP}/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.180.0.99:80
-A KUBE-SERVICES -d ${INGRESS}/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.180.0.99:80
COMMIT
`

const REMOVE = `*nat
-D PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-D OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-F KUBE-SERVICES
-X KUBE-SERVICES
COMMIT
`

function restore({ node }: Lab, input: string): Promise<string> {
  return node.namespace.exec([backendProgram('iptables-restore'), '--noflush'], { input })
}

async function warnings({ daemon }: Lab): Promise<string> {
  const { body } = await daemon.http(10249, '/readyz?verbose')
  return String((JSON.parse(body) as { warnings: unknown }).warnings)
}

function isRaised(samples: Samples): number | undefined {
  return samples.get('nodeproxy_conditions{reason="foreign-service-proxy"}')
}

test('stale rules of a stopped kube-proxy yield to a daemon that starts, and are reported', async () => {
  const { daemon } = lab()
  await deploy(lab(), {
    key: 'ns/taken-over',
    clusterIP: VIP,
    endpoints: [{ ip: BACKEND }],
    ports: [{ name: '', port: 80 }],
    spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local' },
    ingress: [{ ip: INGRESS }],
  })
  await expectFlow(lab(), { ...FLOW, expect: DELIVER })
  await daemon.stop()
  await restore(lab(), STALE)
  await daemon.start()
  await daemon.synced()
  for (const dst of [VIP, INGRESS]) {
    await expectFlow(lab(), { ...FLOW, dst, expect: DELIVER })
    await expectFlow(lab(), { ...FLOW, dst, from: 'node', src: '192.168.0.2', expect: DELIVER })
  }
  const outside = { from: 'external', src: '203.0.113.2', dst: INGRESS } as const
  await expectFlow(lab(), { ...FLOW, ...outside, expect: DELIVER })

  await daemon.until('reporting the other proxy', (samples) => isRaised(samples) === 1)
  expect(await warnings(lab())).toMatch(
    /kube-proxy, probably left behind .*KUBE-SERVICES.*take-over/,
  )
  await restore(lab(), REMOVE)
  await daemon.until('without the other proxy', (samples) => isRaised(samples) === 0)
  expect(await warnings(lab())).toBe('')
  expect(daemon.logs()).toMatch(/foreign-service-proxy.*the condition ended/)
})

/** Another process holds both ports and the API server is away, as when a node starts. */
test('a daemon whose ports another process holds waits for them and for the API server', async () => {
  const { daemon, node, apiServer } = lab()
  await daemon.stop()
  const past = daemon.logs().length
  const logs = () => daemon.logs().slice(past)
  await apiServer.hangUp()
  for (const port of PORTS) await node.agent.call('listen', { ...HELD, port, name: 'kube-proxy' })
  const started = daemon.start()
  started.catch(() => {})
  for (const reason of ['healthz-not-served', 'metrics-not-served']) {
    await expect.poll(logs).toContain(reason)
  }
  await apiServer.answerAgain()
  await expect.poll(logs).toContain('the cluster is listed')
  for (const port of PORTS) await node.agent.call('unlisten', { ...HELD, port })
  await started
  const health = async () => (await daemon.http(10256, '/healthz')).status
  await expect.poll(health).toBe(200)
})
