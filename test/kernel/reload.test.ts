import { beforeEach, expect, test } from 'vitest'
import { deploy } from '../support/flows/deploy.ts'
import { expectFlow } from '../support/flows/expect-flow.ts'
import { isUserspace } from '../support/lab/daemon-config.ts'
import { useLab } from '../support/lab/use-lab.ts'

/** A changed configuration file takes effect without a restart and without a lost connection. */
const lab = useLab()
beforeEach(() => lab().reset())

const VIP = '172.30.27.1'
const FLOW = { from: 'pod', src: '10.0.0.2', dst: VIP, dport: 80 } as const

test.skipIf(isUserspace())(
  'masqueradeAll switched on, while connections are made and kept',
  async () => {
    await deploy(lab(), { key: 'ns/reload', clusterIP: VIP, endpoints: [{ ip: '10.180.0.1' }] })
    const deliver = { outcome: 'deliver', endpoints: ['10.180.0.1:80'] } as const
    await expectFlow(lab(), { ...FLOW, expect: { ...deliver, masquerade: false } })
    const { agent } = await lab().site('pod', FLOW.src)
    const client = { protocol: 'TCP', source: FLOW.src, destination: VIP, port: 80 } as const
    const kept = await agent.call('open', client)
    const load = await agent.call('loadStart', { ...client, intervalMs: 5, timeoutMs: 900 })
    lab().daemon.writeConfig({ iptables: { masqueradeAll: true } })
    lab().daemon.signal('SIGHUP')
    const masqueraded = { ...deliver, masquerade: true }
    await expectFlow(lab(), { ...FLOW, retrySeconds: 10, expect: masqueraded })
    const report = await agent.call('loadStop', load)
    expect([report.failed, report.failures]).toEqual([0, []])
    expect(await agent.call('ping', { id: kept.id, timeoutMs: 1000 })).toBe(true)
  },
)

test('a file with a mistake is refused with its place, and the old settings stay', async () => {
  await deploy(lab(), { key: 'ns/reload', clusterIP: VIP, endpoints: [{ ip: '10.180.0.1' }] })
  lab().daemon.writeConfig({ clusterCIDR: 'not-a-network' })
  lab().daemon.signal('SIGHUP')
  await expect.poll(() => lab().daemon.logs()).toContain('not-a-network')
  const deliver = { outcome: 'deliver', endpoints: ['10.180.0.1:80'] } as const
  await expectFlow(lab(), { ...FLOW, expect: deliver })
})
