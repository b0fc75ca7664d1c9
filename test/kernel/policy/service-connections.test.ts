import { beforeAll, describe, expect, test } from 'vitest'
import { service, slice } from '../../support/lab/objects.ts'
import { putPod, putPolicy, removePolicy } from '../../support/lab/policies.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/** Connections through a Service of Pods whose policies become narrower: those that are admitted stay. */
const lab = useLab({ api: 'real' })

const WEB = '10.0.0.31'
const CLIENT = '10.0.0.32'
const VIP = '172.30.0.31'
const PORT = 8080
const CUT = 'nodeproxy_policy_connections_cut_total'
const toWeb = (...ports: readonly number[]) => ({
  podSelector: { matchLabels: { app: 'client' } },
  policyTypes: ['Egress'],
  egress: [
    {
      to: [{ podSelector: { matchLabels: { app: 'web' } } }],
      ports: ports.map((port) => ({ port })),
    },
  ],
})

beforeAll(async () => {
  await putPod(lab(), { key: 'shop/web', ips: [WEB], labels: { app: 'web' } })
  await putPod(lab(), { key: 'shop/client', ips: [CLIENT], labels: { app: 'client' } })
  const ports = [80, 81].map((port) => ({ protocol: 'TCP' as const, port }))
  await lab().serve({ ip: WEB, local: true, ports })
  await lab().api.apply(
    service('shop/web', { clusterIP: VIP, ports: [{ port: PORT, targetPort: 80 }] }),
  )
  await lab().api.apply(slice('shop/web', [{ ip: WEB }]))
})

describe.each(['nftables', 'userspace'] as const)('%s mode', (mode) => {
  test('an admitted connection survives when another one is cut', async () => {
    await lab().daemon.stop()
    await lab().daemon.start({ config: { mode } })
    await lab().daemon.synced()
    await putPolicy(lab(), 'shop/limit', toWeb(80, 81))
    const { agent } = await lab().site('pod', CLIENT)
    const from = { source: CLIENT, protocol: 'TCP' } as const
    const before = (await lab().daemon.metrics()).get(CUT) ?? 0
    const open = async (destination: string, port: number) =>
      (await agent.call('open', { ...from, destination, port })).id
    await expect
      .poll(() => lab().connect('pod', { ...from, destination: VIP, port: PORT }))
      .toMatchObject([{ kind: 'answered' }])
    const admitted = await open(VIP, PORT)
    const refused = await open(WEB, 81)
    for (const id of [admitted, refused]) {
      expect(await agent.call('ping', { id, timeoutMs: 5_000 })).toBe(true)
    }
    await putPolicy(lab(), 'shop/limit', toWeb(80))
    await lab().daemon.until('cutting', (samples) => (samples.get(CUT) ?? 0) > before)
    expect(await agent.call('ping', { id: admitted, timeoutMs: 5_000 })).toBe(true)
    expect(await agent.call('ping', { id: refused, timeoutMs: 500 })).toBe(false)
    expect((await lab().daemon.metrics()).get(CUT)).toBe(before + 1)
    await removePolicy(lab(), 'shop/limit')
  })
})
