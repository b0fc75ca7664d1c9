import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type Deployment, deploy, deployAll } from '../support/flows/deploy.ts'
import { expectFlow } from '../support/flows/expect-flow.ts'
import { hostileObjects } from '../support/flows/hostile.ts'
import { proxyMode } from '../support/lab/daemon-config.ts'
import { useLab } from '../support/lab/use-lab.ts'

const lab = useLab()

const GOOD: readonly Deployment[] = [1, 2, 3].map((n) => ({
  key: `good/svc-${n}`,
  clusterIP: `172.30.24.${n}`,
  endpoints: [{ ip: `10.180.2.${n}`, node: 'far' }],
  ports: [{ name: 'web', port: 80, nodePort: 30080 + n }],
  spec: { type: 'NodePort', sessionAffinity: n === 2 ? 'ClientIP' : 'None' },
}))

async function expectAllGood(): Promise<void> {
  for (const n of [1, 2, 3]) {
    const expect = { outcome: 'deliver', endpoints: [`10.180.2.${n}:80`] } as const
    const dst = `172.30.24.${n}`
    await expectFlow(lab(), { from: 'pod', src: '10.0.0.2', dst, dport: 80, expect })
    const node = { dst: '192.168.0.2', dport: 30080 + n }
    await expectFlow(lab(), { from: 'external', src: '203.0.113.2', ...node, expect })
  }
}

/** Shorter than the first retransmission of TCP, so that a lost packet is seen; User-mode Linux is too slow for that. */
const TIMEOUT_MS = proxyMode() === 'ipvs' ? 5_000 : 900

test('1,000 hostile Services and slices do no harm to three good Services', async () => {
  await deployAll(lab(), GOOD)
  const { agent } = await lab().site('pod', '10.0.0.2')
  const target = {
    protocol: 'TCP',
    source: '10.0.0.2',
    destination: '172.30.24.1',
    port: 80,
  } as const
  const load = await agent.call('loadStart', { ...target, intervalMs: 10, timeoutMs: TIMEOUT_MS })
  const clusterIPs = GOOD.map(({ clusterIP }) => clusterIP)
  const hostile = hostileObjects(500, { clusterIPs })
  for (const object of hostile) await lab().api.plant(object)
  await deploy(lab(), {
    key: 'good/later',
    clusterIP: '172.30.24.9',
    endpoints: [{ ip: '10.180.2.9', node: 'far' }],
  })
  const report = await agent.call('loadStop', load)
  expect([report.failed, report.failures]).toEqual([0, []])
  expect(report.attempts).toBeGreaterThan(50)
  await expectAllGood()
  await expectFlow(lab(), {
    from: 'pod',
    src: '10.0.0.2',
    dst: '172.30.24.9',
    dport: 80,
    expect: { outcome: 'deliver', endpoints: ['10.180.2.9:80'] },
  })
  expect(existsSync('/tmp/np-harm')).toBe(false)
})

test('the log stays one JSON object per line', () => {
  const lines = lab()
    .daemon.logs()
    .split('\n')
    .filter((line) => line !== '')
  expect(lines.length).toBeGreaterThan(0)
  expect(lines.filter((line) => !isRecord(line))).toEqual([])
  expect(lines.filter((line) => line.length > 8192)).toEqual([])
})

test('they are no burden to the next daemon either', async () => {
  await lab().daemon.kill()
  await lab().daemon.start()
  await lab().daemon.synced()
  await expectAllGood()
})

function isRecord(line: string): boolean {
  try {
    const record: unknown = JSON.parse(line)
    return (
      typeof record === 'object' && record !== null && 'level' in record && !('forged' in record)
    )
  } catch {
    return false
  }
}
