import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { KernelError, ObjectKey } from '../../modes/mode.ts'
import type { AppliedRun } from '../../sync/sync-loop.ts'
import { Health } from '../../telemetry/health/health.ts'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import { recordingLog } from '../testing/wiring.ts'
import { ChangeTimes } from './change-times.ts'
import { observeSync } from './sync-observer.ts'

const CHAIN = '4/nat/NPROXY-VIPS' as ObjectKey
const JUMP = '6/filter/INPUT>-j NPROXY-FILTER' as ObjectKey
const REFUSED: KernelError = { code: 'NP_IPTABLES_REFUSED', message: 'words of iptables' }

function rig() {
  const clock = new FakeClock()
  const families = ['IPv4', 'IPv6'] as const
  const health = new Health({ clock, families, syncPeriod: () => 30_000, inherited: false })
  const { log, lines } = recordingLog()
  const metrics = createMetrics()
  const changeTimes = new ChangeTimes()
  const written: unknown[] = []
  const failures: number[] = []
  const observer = observeSync({
    clock,
    families,
    health,
    log,
    metrics,
    changeTimes,
    onCompiled: () => {},
    onWritten: (failed) => written.push(failed.size),
    onApplied: () => {},
    onFailure: () => failures.push(clock.now()),
    describe: (key) => {
      const [, family, table = ''] = /^([46])\/(\w+)/.exec(key) ?? []
      const kind = key.includes('>') ? 'jump' : 'chain'
      if (family === undefined) return { kind: 'virtual_server', family: 4 }
      return { kind, family: family === '4' ? 4 : 6, rules: { table, count: 3 } }
    },
  })
  const show = async (name: string) =>
    (await metrics.text()).split('\n').filter((line) => line.startsWith(`nodeproxy_${name}`))
  const run = (overrides: Partial<AppliedRun> = {}): AppliedRun => {
    const change = { set: [CHAIN, JUMP], unset: [] }
    return { at: clock.now(), durationMs: 20, change, failed: new Map(), ...overrides }
  }
  return { observer, clock, health, lines, changeTimes, written, failures, show, run }
}

test('a run that was written is healthy, timed and counted by table', async () => {
  const { observer, clock, health, changeTimes, written, show, run } = rig()
  changeTimes.note('endpoints', clock.now() - 500)
  observer.queued(clock.now())
  observer.begun()
  changeTimes.note('endpoints', clock.now())
  observer.applied(run())
  expect(health.report().serving).toBe(true)
  expect(written).toEqual([0])
  expect(await show('sync_proxy_rules_iptables_last')).toEqual([
    'nodeproxy_sync_proxy_rules_iptables_last{table="nat",ip_family="IPv4"} 3',
    'nodeproxy_sync_proxy_rules_iptables_last{table="filter",ip_family="IPv6"} 3',
  ])
  expect(await show('network_programming_duration_seconds_sum')).toEqual([
    'nodeproxy_network_programming_duration_seconds_sum{ip_family="IPv4"} 0.5',
    'nodeproxy_network_programming_duration_seconds_sum{ip_family="IPv6"} 0.5',
  ])
  observer.applied(run())
  expect(await show('sync_full_proxy_rules_duration_seconds_count')).toContain(
    'nodeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family="IPv4"} 1',
  )
  expect(await show('sync_partial_proxy_rules_duration_seconds_count')).toContain(
    'nodeproxy_sync_partial_proxy_rules_duration_seconds_count{ip_family="IPv4"} 1',
  )
})

test('a refused object is named and counted; the rest is done', async () => {
  const { observer, lines, health, show, run } = rig()
  observer.applied(run())
  observer.applied(run({ failed: new Map([[CHAIN, REFUSED]]) }))
  expect(lines.filter((line) => line.startsWith('error'))).toEqual([
    `error the kernel refused an object; trying again {"object":"${CHAIN}","code":"NP_IPTABLES_REFUSED","reason":"words of iptables","failed":1}`,
  ])
  expect(health.report().healthy).toBe(true)
  expect(await show('apply_failures_total')).toEqual([
    'nodeproxy_apply_failures_total{code="NP_IPTABLES_REFUSED"} 1',
  ])
  expect(await show('sync_proxy_rules_iptables_partial_restore_failures_total')).toEqual([
    'nodeproxy_sync_proxy_rules_iptables_partial_restore_failures_total{ip_family="IPv4"} 1',
  ])
})

test('objects that hold no rules count as refused, but not as rules', async () => {
  const { observer, show, run } = rig()
  const server = 'server 4/tcp/172.30.0.1:80' as ObjectKey
  observer.applied(run())
  observer.applied(run({ change: { set: [server], unset: [] } }))
  expect(await show('sync_proxy_rules_iptables_last')).toEqual([])
  observer.applied(run({ failed: new Map([[server, { code: 'NP_X', message: '' }]]) }))
  expect(await show('apply_failures_total')).toEqual([
    'nodeproxy_apply_failures_total{code="NP_X"} 1',
  ])
  expect(await show('sync_proxy_rules_iptables_restore_failures_total')).toEqual([])
})

test('whatever goes wrong is a reason to look at the kernel', () => {
  const { observer, failures, run } = rig()
  observer.applied(run())
  expect(failures).toHaveLength(0)
  observer.applied(run({ failed: new Map([[CHAIN, REFUSED]]) }))
  observer.failed(new Error('lost'))
  expect(failures).toHaveLength(2)
})

test('of many refusals the first few are shown', () => {
  const { observer, lines, run } = rig()
  const keys = Array.from({ length: 50 }, (_, n) => `4/nat/NPROXY-C-${n}` as ObjectKey)
  const failed = new Map(keys.map((key) => [key, REFUSED]))
  observer.applied(run({ failed, change: { set: keys, unset: [] } }))
  expect(lines).toHaveLength(5)
})

test('when everything is refused, or nothing can be read, the change still waits', async () => {
  const { observer, health, clock, written, changeTimes, run } = rig()
  observer.applied(run())
  for (const fail of [
    () => observer.applied(run({ failed: new Map([CHAIN, JUMP].map((key) => [key, REFUSED])) })),
    () => observer.failed(new Error('lost')),
  ]) {
    changeTimes.note('service')
    observer.queued(clock.now())
    observer.begun()
    fail()
    clock.elapse(60_001)
    expect(health.report().healthy).toBe(false)
    expect(changeTimes.pending('service')).toBe(1)
    observer.begun()
    observer.applied(run())
    expect(health.report().healthy).toBe(true)
  }
  expect(written).toEqual([0, 0, 0])
})

test('drift is logged with who and what, and counted by kind', async () => {
  const { observer, lines, show } = rig()
  observer.drifted(
    [
      { key: CHAIN, kind: 'altered', seen: undefined },
      { key: JUMP, kind: 'missing', seen: undefined },
    ],
    'iptables (pid 7)',
  )
  expect(lines[0]).toContain(`"by":"iptables (pid 7)","count":2,"objects":["altered ${CHAIN}"`)
  expect(await show('drift_repairs_total')).toEqual([
    'nodeproxy_drift_repairs_total{object="chain",cause="altered"} 1',
    'nodeproxy_drift_repairs_total{object="jump",cause="missing"} 1',
  ])
})
