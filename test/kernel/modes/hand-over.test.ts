import { beforeAll, expect, test } from 'vitest'
import { deploy } from '../../support/flows/deploy.ts'
import { expectFlow } from '../../support/flows/expect-flow.ts'
import { backendProgram, type ProxyConfig } from '../../support/lab/daemon-config.ts'
import { sumOf } from '../../support/lab/metrics.ts'
import { readSysctl } from '../../support/lab/sysctl.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/**
 * Settings that change every rule are taken over by a new mode while connections
 * are made and kept. None of them may notice.
 */
const lab = useLab()

const VIP = '172.30.28.1'
const POD = { from: 'pod', src: '10.0.0.2', dst: VIP, dport: 80 } as const
const OUTSIDE = { from: 'external', src: '203.0.113.2', dst: '192.168.1.2', dport: 30080 } as const
const LOOPBACK = { from: 'node', src: '127.0.0.1', dst: '127.0.0.1', dport: 30080 } as const
const answered = { outcome: 'deliver', endpoints: ['10.180.0.1:80'] } as const
const ROUTE_LOCALNET = 'net/ipv4/conf/all/route_localnet'

beforeAll(async () => {
  await deploy(lab(), {
    key: 'ns/handed-over',
    clusterIP: VIP,
    endpoints: [{ ip: '10.180.0.1' }],
    ports: [{ name: '', port: 80, nodePort: 30080 }],
    spec: { type: 'NodePort' },
  })
})

const rules = () => lab().node.namespace.exec([backendProgram('iptables-save')])

/** Takes over another configuration, and waits until its rules stand. */
async function reconfigure(config: ProxyConfig, standing: RegExp): Promise<void> {
  const reloads = async () =>
    sumOf(await lab().daemon.metrics(), 'nodeproxy_config_reloads_total', { result: 'applied' })
  const before = await reloads()
  lab().daemon.writeConfig(config)
  lab().daemon.signal('SIGHUP')
  await expect.poll(reloads).toBeGreaterThan(before)
  await expect.poll(rules).toMatch(standing)
}

/** Connections to both frontends, made all the while and one kept open, none of which fails. */
async function undisturbed(change: () => Promise<void>): Promise<void> {
  const clients = await Promise.all(
    [POD, OUTSIDE].map(async ({ from, src, dst, dport }) => {
      const { agent } = await lab().site(from === 'pod' ? 'pod' : 'outside', src)
      const client = { protocol: 'TCP', source: src, destination: dst, port: dport } as const
      const kept = await agent.call('open', client)
      const load = await agent.call('loadStart', { ...client, intervalMs: 4, timeoutMs: 900 })
      return { agent, kept, load, client }
    }),
  )
  await change()
  for (const { agent, kept, load, client } of clients) {
    await agent.call('connect', { ...client, attempts: 30 })
    const report = await agent.call('loadStop', load)
    expect([report.failed, report.failures]).toEqual([0, []])
    expect(report.attempts).toBeGreaterThan(10)
    expect(await agent.call('ping', { id: kept.id, timeoutMs: 1000 })).toBe(true)
  }
}

test('masquerade of everything, by another mark', async () => {
  await expectFlow(lab(), { ...POD, expect: { ...answered, masquerade: false } })
  await undisturbed(() =>
    reconfigure({ iptables: { masqueradeAll: true, masqueradeBit: 20 } }, /! --mark 0x100000/),
  )
  await expectFlow(lab(), { ...POD, retrySeconds: 5, expect: { ...answered, masquerade: true } })
  await expectFlow(lab(), { ...OUTSIDE, expect: { ...answered, masquerade: true } })
  expect(await rules()).not.toContain('0x4000')
})

test('pods known by their bridge', async () => {
  const config = { detectLocalMode: 'BridgeInterface', detectLocal: { bridgeInterface: 'cbr0' } }
  await undisturbed(() => reconfigure(config, /! -i cbr0 .*--set-xmark 0x4000\/0x4000/))
  await expectFlow(lab(), { ...POD, retrySeconds: 5, expect: { ...answered, masquerade: false } })
})

test('another network of pods', async () => {
  await undisturbed(() => reconfigure({ clusterCIDR: '10.180.0.0/16' }, /! -s 10.180.0.0\/16/))
  await expectFlow(lab(), { ...POD, retrySeconds: 5, expect: { ...answered, masquerade: true } })
})

test('node ports on some addresses', async () => {
  const elsewhere = { ...OUTSIDE, dst: '192.168.0.2' }
  await expectFlow(lab(), { ...elsewhere, expect: answered })
  await undisturbed(() =>
    reconfigure({ nodePortAddresses: ['192.168.1.0/24'] }, /-d 192.168.1.0\/24 .*NODEPORTS/),
  )
  await expectFlow(lab(), { ...elsewhere, retrySeconds: 5, expect: { outcome: 'unhandled' } })
})

test('node ports on loopback: routed once it is guarded, and closed again', async () => {
  expect(await readSysctl(lab().node.agent, ROUTE_LOCALNET)).toBe('0')
  await undisturbed(() =>
    reconfigure({ iptables: { localhostNodePorts: true } }, /NPROXY-MARTIANS/),
  )
  await expect.poll(() => readSysctl(lab().node.agent, ROUTE_LOCALNET)).toBe('1')
  await expectFlow(lab(), { ...LOOPBACK, retrySeconds: 5, expect: answered })
  await undisturbed(() => reconfigure({}, /-d 127.0.0.0\/8 -j RETURN/))
  await expect.poll(() => readSysctl(lab().node.agent, ROUTE_LOCALNET)).toBe('0')
  await expect.poll(rules).not.toMatch(/MARTIANS|NPGUARD/)
})

test('everything changed again and again, in one go', async () => {
  await undisturbed(async () => {
    for (let round = 0; round < 5; round++) {
      lab().daemon.writeConfig({ iptables: { masqueradeBit: 1 + round } })
      lab().daemon.signal('SIGHUP')
      await reconfigure({ iptables: { masqueradeBit: 11 + round } }, /! --mark 0x/)
    }
    await expect.poll(rules).toContain('! --mark 0x8000/0x8000')
  })
  // 0x4000 itself is now the mark of what ipvs mode has taken.
  expect(await rules()).not.toMatch(/(! --mark|--set-xmark) 0x4000\//)
})
