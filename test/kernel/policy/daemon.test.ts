import { beforeAll, expect, test } from 'vitest'
import {
  type PodConnection,
  policyTables,
  putPod,
  putPolicy,
  removePolicy,
  tryConnecting,
} from '../../support/lab/policies.ts'
import { reconfigure } from '../../support/lab/reconfigure.ts'
import { useLab } from '../../support/lab/use-lab.ts'

const lab = useLab({ api: 'real' })

const WEB = { v4: '10.0.0.11', v6: 'fd00:10::11' } as const
const CLIENT = { v4: '10.0.0.12', v6: 'fd00:10::12' } as const
const STRANGER = { v4: '10.0.0.13', v6: 'fd00:10::13' } as const
const FAMILIES = ['v4', 'v6'] as const
const PORTS = [80, 81].map((port) => ({ protocol: 'TCP' as const, port }))
const DENY = { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Ingress'] }
const ALLOW = {
  ...DENY,
  ingress: [
    {
      from: [{ podSelector: { matchLabels: { app: 'client' } } }],
      ports: [{ protocol: 'TCP', port: 80 }],
    },
  ],
}
const IS_OPEN = ['answered']
const IS_CLOSED = ['timeout']

beforeAll(async () => {
  const pods = [
    { key: 'shop/web', ips: Object.values(WEB), labels: { app: 'web' } },
    { key: 'shop/client', ips: Object.values(CLIENT), labels: { app: 'client' } },
    { key: 'shop/stranger', ips: Object.values(STRANGER) },
  ]
  for (const pod of pods) {
    await putPod(lab(), pod)
    for (const ip of pod.ips) await lab().serve({ ip, local: true, ports: PORTS })
  }
})

const connecting = (connection: PodConnection) => () => tryConnecting(lab(), connection)

/** Waits until both families show these outcomes: of the client to ports 80 and 81, and of the stranger to port 80. */
async function expectOutcomes(outcomes: readonly (readonly string[])[]): Promise<void> {
  const [allowed, otherPort, stranger] = outcomes
  for (const family of FAMILIES) {
    const [web, client, other] = [WEB[family], CLIENT[family], STRANGER[family]]
    await expect.poll(connecting({ from: other, to: web, port: 80 })).toEqual(stranger)
    await expect.poll(connecting({ from: client, to: web, port: 81 })).toEqual(otherPort)
    await expect.poll(connecting({ from: client, to: web, port: 80 })).toEqual(allowed)
  }
}

test('policies of both groups are enforced from their creation to their deletion', async () => {
  await expectOutcomes([IS_OPEN, IS_OPEN, IS_OPEN])
  await putPolicy(lab(), 'shop/deny', DENY)
  await expectOutcomes([IS_CLOSED, IS_CLOSED, IS_CLOSED])
  await putPolicy(lab(), 'shop/allow', ALLOW, 'networking.orch.io')
  await expectOutcomes([IS_OPEN, IS_CLOSED, IS_CLOSED])
  const dropped = /^nodeproxy_policy_dropped_packets_total.*policy="[^"]*shop.deny".*ingress/
  await lab().daemon.until('counting what is dropped', (samples) =>
    [...samples].some(([name, value]) => dropped.test(name) && value > 0),
  )
  await removePolicy(lab(), 'shop/allow')
  await removePolicy(lab(), 'shop/deny')
  await expectOutcomes([IS_OPEN, IS_OPEN, IS_OPEN])
})

test('enforcement is turned off and on while the daemon runs', async () => {
  await putPolicy(lab(), 'shop/allow', ALLOW)
  await expectOutcomes([IS_OPEN, IS_CLOSED, IS_CLOSED])
  await reconfigure(lab(), { networkPolicy: { enforce: false } })
  await expectOutcomes([IS_OPEN, IS_OPEN, IS_OPEN])
  await expect.poll(() => policyTables(lab())).toEqual([])
  await reconfigure(lab(), { networkPolicy: { enforce: true } })
  await expectOutcomes([IS_OPEN, IS_CLOSED, IS_CLOSED])
})

test('a restart keeps closed what is closed', async () => {
  await putPolicy(lab(), 'shop/allow', ALLOW)
  await expectOutcomes([IS_OPEN, IS_CLOSED, IS_CLOSED])
  const { daemon } = lab()
  for (const end of ['stop', 'kill'] as const) {
    await daemon[end]()
    expect(await policyTables(lab())).toEqual(['ip', 'ip6'])
    await expectOutcomes([IS_OPEN, IS_CLOSED, IS_CLOSED])
    const stranger = { from: STRANGER.v4, to: WEB.v4, port: 80 }
    let isRunning = true
    const watching = (async () => {
      const seen = new Set<string>()
      while (isRunning) for (const kind of await tryConnecting(lab(), stranger)) seen.add(kind)
      return [...seen]
    })()
    await daemon.start()
    await daemon.until('enforcing', (all) => all.get('nodeproxy_policy_enforcement') === 1)
    isRunning = false
    expect(await watching).toEqual(IS_CLOSED)
  }
})
