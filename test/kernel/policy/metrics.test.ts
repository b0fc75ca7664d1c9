import { beforeAll, expect, test } from 'vitest'
import { METRIC_TABLE } from '../../../src/telemetry/metrics/registry.ts'
import { MetricHistory } from '../../support/lab/metric-history.ts'
import { policyTables, putPod, putPolicy, tryConnecting } from '../../support/lab/policies.ts'
import { reconfigure } from '../../support/lab/reconfigure.ts'
import { occupiedTable } from '../../support/lab/refusing-kernel.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/** What a daemon that enforces policies counts, as metrics.test.ts of all modes does for the rest. */
const lab = useLab({ api: 'real' })
const history = new MetricHistory(lab)

const WEB = '10.0.0.31'
const CLIENT = '10.0.0.32'
/** A table that has an owner cannot drift: shown where the kernel is a fake, in policy-gauges.test.ts. */
const ELSEWHERE = 'policy_drift_repairs_total'

beforeAll(async () => {
  await putPod(lab(), { key: 'shop/web', ips: [WEB] })
  await lab().serve({ ip: WEB, local: true, ports: [{ protocol: 'TCP', port: 80 }] })
  await history.look()
})

const connection = { source: CLIENT, destination: WEB, port: 80, protocol: 'TCP' } as const

test('a policy, the connection that it cuts, and those that it refuses', async () => {
  const { agent } = await lab().site('pod', CLIENT)
  await agent.call('open', connection)
  await putPolicy(lab(), 'shop/deny', { podSelector: {}, policyTypes: ['Ingress'] })
  await history.until('policy_connections_cut_total')
  expect(await tryConnecting(lab(), { from: CLIENT, to: WEB, port: 80 })).toEqual(['timeout'])
  await history.until('policy_dropped_packets_total')
  await history.until('policy_objects')
})

test('a kernel that refuses', async () => {
  await reconfigure(lab(), { networkPolicy: { enforce: false } })
  const kernel = occupiedTable(lab(), 'node-proxy-policies')
  await kernel.begin()
  await reconfigure(lab(), { networkPolicy: { enforce: true } })
  await history.until('policy_failures_total')
  await kernel.end()
  await history.until('policy_enforcement')
  expect(await policyTables(lab())).toEqual(['ip', 'ip6'])
})

test('every documented metric of policies moved', () => {
  const all = Object.values(METRIC_TABLE).map(({ name }) => name)
  const expected = all.filter((name) => name.startsWith('policy_') && name !== ELSEWHERE)
  expect(history.unmoved(expected)).toEqual([])
})
