import { expect, test } from 'vitest'
import { createProgress } from '../../../client/reflector-state.ts'
import { createMetrics } from '../../../telemetry/metrics/metrics.ts'
import type { WatchState } from '../../../watch/cluster-watcher.ts'
import { publishApplied, seenVersions } from './applied-versions.ts'

function watchState(
  endpointsApi: WatchState['endpointsApi'],
  version: string | undefined,
): WatchState {
  const at = (resourceVersion: string | undefined) => ({
    ...createProgress('/', 0),
    resourceVersion,
  })
  return {
    synced: true,
    endpointsApi,
    discoveryFailure: undefined,
    services: at('12'),
    endpoints: endpointsApi && at('34'),
    node: at(version),
  }
}

test('endpoints are published under the name of their API', async () => {
  for (const [api, resource] of [
    ['v1', 'endpoints'],
    ['discovery.k8s.io/v1', 'endpointslices'],
  ] as const) {
    const metrics = createMetrics()
    publishApplied(metrics, seenVersions(watchState(api, '56')))
    const text = await metrics.text()
    expect(text).toContain('nodeproxy_applied_resource_version{resource="services"} 12')
    expect(text).toContain(`nodeproxy_applied_resource_version{resource="${resource}"} 34`)
    expect(text).toContain('nodeproxy_applied_resource_version{resource="nodes"} 56')
  }
})

test('versions that are unknown or no numbers are left out', () => {
  expect([...seenVersions(watchState(undefined, undefined)).keys()]).toEqual(['services'])
  expect([...seenVersions(watchState(undefined, 'opaque-7')).keys()]).toEqual(['services'])
})
