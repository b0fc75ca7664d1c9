import { expect, test } from 'vitest'
import type { StaleFlows } from '../../forwarding/entry.ts'
import { ip } from '../../forwarding/testing/fixtures.ts'
import { FakeConntrack } from '../../kernel/conntrack/testing/fake-conntrack.ts'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import { cutFlows } from './cut-flows.ts'

const clock = { now: () => 0 }

function stale(family: 4 | 6): StaleFlows {
  const address = ip(family === 4 ? '172.30.0.1' : 'fd00::1')
  return { family, protocol: 'UDP', ip: address, port: 53, keep: new Set() }
}

test('deleted entries are counted by family', async () => {
  const conntrack = new FakeConntrack()
  const flow = { protocol: 'UDP', port: 53, backend: 'gone:53' } as const
  conntrack.flows = [
    { ...flow, family: 4, ip: '172.30.0.1' },
    { ...flow, family: 6, ip: 'fd00::1' },
    { ...flow, family: 6, ip: 'fd00::1', backend: 'gone:54' },
  ]
  const metrics = createMetrics()
  expect(await cutFlows([stale(4), stale(6)], { conntrack, metrics, clock })).toBe(3)
  const text = await metrics.text()
  expect(text).toContain('nodeproxy_conntrack_reconciler_deleted_entries_total{ip_family="IPv4"} 1')
  expect(text).toContain('nodeproxy_conntrack_reconciler_deleted_entries_total{ip_family="IPv6"} 2')
})

test('conntrack is not read for a family without stale flows', async () => {
  const conntrack = new FakeConntrack()
  await cutFlows([stale(6)], { conntrack, metrics: createMetrics(), clock })
  expect(conntrack.cuts.map((cut) => cut.map(({ family }) => family))).toEqual([[6]])
})

test('flows to the ports of this process stay while their frontend has backends', async () => {
  const conntrack = new FakeConntrack()
  const ownPorts = new Set([10_270])
  const parts = { conntrack, metrics: createMetrics(), clock, ownPorts }
  await cutFlows([stale(4), { ...stale(4), port: 54, keep: new Set(['10.1.0.1:54']) }], parts)
  expect(conntrack.cuts).toMatchObject([[{ port: 53 }, { port: 54, ownPorts }]])
  expect(conntrack.cuts[0]?.[0]).not.toHaveProperty('ownPorts')
})
