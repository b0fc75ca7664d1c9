import { expect, test } from 'vitest'
import { createProgress } from '../../client/reflector/reflector-state.ts'
import type { EntryId } from '../../forwarding/entry.ts'
import { ForwardingTable } from '../../forwarding/table.ts'
import { nodeContext } from '../../forwarding/testing/fixtures.ts'
import { FakeSets } from '../../kernel/ipset/testing/fake-sets.ts'
import { FakeIptables } from '../../kernel/iptables/testing/fake-iptables.ts'
import { FakeMonitor } from '../../kernel/testing/fake-monitor.ts'
import { IptablesMode } from '../../modes/iptables/mode.ts'
import { entry, frontend, ip, settings } from '../../modes/testing/mode-fixtures.ts'
import type { ServiceKey } from '../../resources/types.ts'
import { DeltaTracker } from '../../sync/delta-tracker.ts'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import { type WatchState, watchedResources } from '../../watch/cluster-watcher.ts'
import { ChangeTimes } from './change-times.ts'
import { refreshGauges } from './gauges.ts'

function rig() {
  const metrics = createMetrics()
  const sets = new FakeSets()
  const kernel = { sets, iptables: new FakeIptables({ sets }), monitor: new FakeMonitor() }
  const mode = new IptablesMode(settings(), kernel)
  const table = new ForwardingTable(nodeContext())
  const tracker = new DeltaTracker()
  const changeTimes = new ChangeTimes()
  const family = { healthy: false, lastUpdated: undefined }
  const status = new Map([
    ['IPv4' as const, { ...family, waitingSince: 1_000 }],
    ['IPv6' as const, { ...family, waitingSince: undefined }],
  ])
  const health = { now: 76_000, status }
  const services = {
    ...createProgress('/api/v1/services', 0),
    connected: true,
    objects: 7,
    rejected: 2,
  }
  const atWork = { name: 'iptables', backend: 'nft', draining: 0 }
  const watch: WatchState = {
    synced: true,
    endpointsApi: 'v1',
    discoveryFailure: undefined,
    services: { ...services, lastEventAt: 5_000, restarts: 2, failures: 3 },
    endpoints: undefined,
    node: createProgress('/api/v1/nodes', 0),
  }
  return {
    mode,
    tracker,
    kernel,
    changeTimes,
    atWork,
    place(name: string, address: string, affinity?: { seconds: number }) {
      const service = name as ServiceKey
      const id = `${name}:http/TCP/4` as EntryId
      const one = entry({ id, service, frontends: [frontend({ ip: ip(address) })], affinity })
      const { upserts } = table.replace(service, [one], 0)
      for (const granted of upserts) mode.program.replace(granted.id, granted)
      tracker.want(mode.program.takeChanges())
    },
    remove(name: string) {
      for (const id of table.replace(name as ServiceKey, [], 0).removals) {
        mode.program.replace(id, undefined)
      }
      tracker.want(mode.program.takeChanges())
    },
    async write() {
      const change = tracker.pending(0)
      tracker.confirm(change, await mode.apply(change), 0)
    },
    async show(): Promise<string[]> {
      refreshGauges(metrics, {
        running: { mode, table, tracker },
        watched: watchedResources(watch),
        changeTimes,
        health,
        mode: atWork,
      })
      const text = await metrics.text()
      return text.split('\n').filter((line) => line.startsWith('nodeproxy_'))
    },
  }
}

const statuses = (lines: readonly string[]) =>
  Object.fromEntries(
    lines.flatMap((line) => {
      const [, status, count] = /^nodeproxy_entries\{status="(\w+)"\} (\d+)/.exec(line) ?? []
      return status === undefined ? [] : [[status, Number(count)]]
    }),
  )

test('each Service port has one status', async () => {
  const { place, write, show, kernel } = rig()
  place('ns/a', '172.30.0.1')
  expect(statuses(await show())).toEqual({ Pending: 1, Done: 0, Conflict: 0, Error: 0 })
  await write()
  place('ns/b', '172.30.0.1')
  kernel.iptables.refuse(/172\.30\.0\.3/)
  place('ns/c', '172.30.0.3')
  await write()
  place('ns/d', '172.30.0.4')
  expect(statuses(await show())).toEqual({ Pending: 1, Done: 1, Conflict: 1, Error: 1 })
})

test('objects and rules of each kind, gone when the last one is', async () => {
  const { place, remove, write, show } = rig()
  place('ns/a', '172.30.0.1', { seconds: 60 })
  await write()
  expect(await show()).toContain('nodeproxy_programmed_objects{kind="set",ip_family="any"} 2')
  remove('ns/a')
  await write()
  const lines = await show()
  expect(lines.filter((line) => line.includes('kind="set"'))).toEqual([])
  expect(
    lines.filter((line) => line.startsWith('nodeproxy_sync_proxy_rules_iptables_total')),
  ).toEqual([
    'nodeproxy_sync_proxy_rules_iptables_total{table="nat",ip_family="IPv4"} 11',
    'nodeproxy_sync_proxy_rules_iptables_total{table="filter",ip_family="IPv4"} 11',
    'nodeproxy_sync_proxy_rules_iptables_total{table="nat",ip_family="IPv6"} 11',
    'nodeproxy_sync_proxy_rules_iptables_total{table="filter",ip_family="IPv6"} 11',
  ])
})

test('one mode is at work, and what drains is counted whichever mode it is in', async () => {
  const { show, atWork } = rig()
  await show()
  Object.assign(atWork, { name: 'ipvs', backend: 'legacy', draining: 3 })
  const lines = await show()
  expect(lines.filter((line) => line.startsWith('nodeproxy_mode_info'))).toEqual([
    'nodeproxy_mode_info{mode="ipvs",backend="legacy"} 1',
  ])
  expect(lines).toContain('nodeproxy_draining_backends 3')
})

test('the gauges show the watch, however often they are read', async () => {
  const { show, changeTimes } = rig()
  changeTimes.note('service')
  changeTimes.queued()
  await show()
  const lines = await show()
  for (const line of [
    'nodeproxy_watch_connected{resource="services"} 1',
    'nodeproxy_watch_connected{resource="nodes"} 0',
    'nodeproxy_objects{resource="services"} 7',
    'nodeproxy_rejected_objects{resource="services"} 2',
    'nodeproxy_watch_last_event_timestamp_seconds{resource="services"} 5',
    'nodeproxy_reflector_restarts_total{resource="services",reason="list"} 2',
    'nodeproxy_reflector_restarts_total{resource="services",reason="failure"} 3',
    'nodeproxy_sync_proxy_rules_service_changes_pending 1',
    'nodeproxy_sync_proxy_rules_endpoint_changes_pending 0',
  ]) {
    expect(lines).toContain(line)
  }
})

test('the age of the oldest change that waits grows while nothing else happens', async () => {
  const { show } = rig()
  const lines = await show()
  expect(lines.filter((line) => line.includes('oldest_pending'))).toEqual([
    'nodeproxy_oldest_pending_change_age_seconds{ip_family="IPv4"} 75',
    'nodeproxy_oldest_pending_change_age_seconds{ip_family="IPv6"} 0',
  ])
})
