import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { DroppedPackets } from '../../policy/nftables/enforcer.ts'
import { Conditions } from '../../telemetry/health/conditions.ts'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import { recordingLog } from '../testing/wiring.ts'
import { observePolicies } from './observe-policies.ts'
import { PolicyGauges } from './policy-gauges.ts'

function dropped(policy: string, packets: bigint): DroppedPackets {
  return { family: 4, direction: 'ingress', policies: policy === '' ? [] : [policy], packets }
}

async function rows(metrics: ReturnType<typeof createMetrics>) {
  const { values } = await metrics.policyDropped.get()
  return Object.fromEntries(values.map(({ labels, value }) => [labels.policy, value]))
}

test('dropped packets only rise, though counters of rules begin anew and vanish', async () => {
  const metrics = createMetrics()
  const gauges = new PolicyGauges(metrics)
  for (const packets of [5n, 7n, 2n]) gauges.addDropped([dropped('a/b', packets)])
  expect(await rows(metrics)).toEqual({ 'a/b': 9 })
  gauges.addDropped([])
  gauges.addDropped([dropped('a/b', 1n), dropped('', 3n)])
  expect(await rows(metrics)).toEqual({ 'a/b': 10, '(unknown pod)': 3 })
})

test('further policies than the rows share one', async () => {
  const metrics = createMetrics()
  const gauges = new PolicyGauges(metrics, 2)
  const all = ['a/1', 'a/2', 'a/3', 'a/4']
  gauges.addDropped(all.map((policy) => dropped(policy, 1n)))
  gauges.addDropped(all.map((policy) => dropped(policy, 2n)))
  expect(await rows(metrics)).toEqual({ 'a/1': 2, 'a/2': 2, '': 4 })
})

test('refusals and failures are counted, and a condition until everything is in force', async () => {
  const metrics = createMetrics()
  const { log, lines } = recordingLog()
  const conditions = new Conditions({ log, metrics })
  let applied = 0
  const observer = observePolicies({
    clock: new FakeClock(),
    log,
    conditions,
    metrics,
    onApplied: () => applied++,
  })
  const run = { at: 0, durationMs: 3, transactions: 1 }
  const refusal = {
    code: 'NP_POLICY_REFUSED',
    message: 'set pods-1 of table ip x: ENOMEM',
  } as const
  observer.applied({ ...run, refused: new Map([['4 pods-1', refusal]]) })
  expect(conditions.current()).toMatchObject([
    {
      reason: 'network-policy-failing',
      blocksReadiness: false,
      message: expect.stringMatching(/^the kernel refuses set pods-1 of table ip x: ENOMEM; /),
    },
  ])
  observer.failed(new Error('no answer'))
  observer.drifted(['egress', 'ingress'], 'nft')
  observer.flowsCut(3)
  observer.applied({ ...run, refused: new Map() })
  expect([conditions.current(), applied]).toEqual([[], 2])
  const text = await metrics.text()
  expect(text).toContain('nodeproxy_policy_failures_total{code="NP_POLICY_REFUSED"} 1')
  expect(text).toContain('nodeproxy_policy_failures_total{code="unexpected"} 1')
  expect(text).toContain('nodeproxy_policy_drift_repairs_total 2')
  expect(text).toContain('nodeproxy_policy_connections_cut_total 3')
  expect(lines.join('\n')).toContain('writing the rules of NetworkPolicies failed')
})
