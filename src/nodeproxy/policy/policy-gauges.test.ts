import { expect, test } from 'vitest'
import type { IpAddress } from '../../lib/ip.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { DroppedPackets } from '../../policy/nftables/enforcer.ts'
import { EMPTY } from '../../policy/nftables/testing/scripted-source.ts'
import type { ChainName, PodVerdict } from '../../policy/policy-content.ts'
import { Conditions } from '../../telemetry/health/conditions.ts'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import { recordingLog } from '../testing/wiring.ts'
import { observePolicies } from './observe-policies.ts'
import { countPolicies, PolicyGauges } from './policy-gauges.ts'

/** Packets that a chain dropped for a policy; each policy has one chain unless another is named. */
function dropped(policy: string, packets: bigint, chain = `chain of ${policy}`): DroppedPackets {
  const policies = policy === '' ? [] : [policy]
  return { family: 4, chain, direction: 'ingress', policies, packets }
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

test('a counter that vanished is a new one when it is back', async () => {
  const metrics = createMetrics()
  const gauges = new PolicyGauges(metrics)
  gauges.addDropped([dropped('a/b', 5n)])
  gauges.addDropped([])
  gauges.addDropped([dropped('a/b', 6n)])
  expect(await rows(metrics)).toEqual({ 'a/b': 11 })
})

test('families, and chains of the same policies, are added; one that begins anew takes nothing away', async () => {
  const metrics = createMetrics()
  const gauges = new PolicyGauges(metrics)
  const ofIpv6 = (packets: bigint) => ({ ...dropped('a/b', packets), family: 6 }) as const
  const both = (one: bigint, other: bigint) => [
    dropped('a/b', one, 'one'),
    dropped('a/b', other, 'other'),
  ]
  gauges.addDropped([...both(4n, 3n), ofIpv6(20n)])
  expect(await rows(metrics)).toEqual({ 'a/b': 27 })
  gauges.addDropped([...both(1n, 1n), ofIpv6(21n)])
  expect(await rows(metrics)).toEqual({ 'a/b': 30 })
})

test('when one of several chains of the same policies vanishes or begins anew, packets of the others count once', async () => {
  const metrics = createMetrics()
  const gauges = new PolicyGauges(metrics)
  const [one, other] = [dropped('a/b', 60n, 'one'), dropped('a/b', 40n, 'other')]
  gauges.addDropped([one, other])
  gauges.addDropped([other])
  expect(await rows(metrics)).toEqual({ 'a/b': 100 })
  gauges.addDropped([dropped('a/b', 2n, 'one'), other])
  expect(await rows(metrics)).toEqual({ 'a/b': 102 })
})

test('every isolated address counts once, in whichever direction', () => {
  const [a, b, c, d] = ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'].map(
    (ip) => ip as IpAddress,
  ) as [IpAddress, IpAddress, IpAddress, IpAddress]
  const chain = 'pods' as ChainName
  const pods = {
    ingress: new Map<IpAddress, PodVerdict>([
      [a, chain],
      [b, 'accept'],
      [c, 'drop'],
      [d, 'accept'],
    ]),
    egress: new Map<IpAddress, PodVerdict>([
      [a, chain],
      [b, chain],
      [c, 'accept'],
      [d, 'accept'],
    ]),
  }
  expect(countPolicies({ ...EMPTY, pods }).isolated_address).toBe(3)
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

test('failures have a time and a condition; what is refused is named up to three, and counted', async () => {
  const metrics = createMetrics()
  const { log } = recordingLog()
  const conditions = new Conditions({ log, metrics })
  const clock = new FakeClock()
  const parts = { clock, log, conditions, metrics }
  const observer = observePolicies({ ...parts, onApplied: () => undefined })
  await clock.advance(7_000)
  const at = clock.now() / 1_000
  observer.failed(new Error('no answer'))
  expect(conditions.current()).toMatchObject([
    {
      message: expect.stringMatching(
        /^the rules of NetworkPolicies cannot be written: no answer; /,
      ),
    },
  ])
  const refusedOf = (...names: readonly string[]) =>
    new Map(names.map((name) => [name, { code: 'NP_POLICY_REFUSED', message: name } as const]))
  const run = { at: 0, durationMs: 250, transactions: 1 }
  observer.applied({ ...run, refused: refusedOf('a', 'b', 'c') })
  const names = () => conditions.current()[0]?.message
  expect(names()).toMatch(/^the kernel refuses a; b; c; what is not in force /)
  observer.applied({ ...run, refused: refusedOf('a', 'b', 'c', 'd', 'e') })
  expect(names()).toMatch(/^the kernel refuses a; b; c; and 2 more; what is not in force /)
  observer.flowsFailed(new Error('no answer'))
  const text = await metrics.text()
  expect(text).toContain('nodeproxy_policy_failures_total{code="NP_POLICY_REFUSED"} 8\n')
  expect(text).toContain('nodeproxy_policy_failures_total{code="unexpected"} 2\n')
  expect(text).toContain('nodeproxy_policy_sync_duration_seconds_sum 0.5\n')
  expect(text).toContain(`nodeproxy_policy_last_failure_timestamp_seconds ${at}\n`)
})
