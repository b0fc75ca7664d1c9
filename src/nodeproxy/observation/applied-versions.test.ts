import { expect, test } from 'vitest'
import { createProgress } from '../../client/reflector/reflector-state.ts'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import type { WatchState } from '../../watch/cluster-watcher.ts'
import { AppliedVersions } from './applied-versions.ts'

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
    const versions = new AppliedVersions({ metrics, afterApply: (callback) => callback() })
    versions.mark(watchState(api, '56'))
    const text = await metrics.text()
    expect(text).toContain('nodeproxy_applied_resource_version{resource="services"} 12')
    expect(text).toContain(`nodeproxy_applied_resource_version{resource="${resource}"} 34`)
    expect(text).toContain('nodeproxy_applied_resource_version{resource="nodes"} 56')
  }
})

test.each([undefined, 'opaque-7'])('the version %s is not published', async (version) => {
  const metrics = createMetrics()
  const versions = new AppliedVersions({ metrics, afterApply: (callback) => callback() })
  versions.mark(watchState(undefined, version))
  const lines = (await metrics.text()).split('\n')
  const published = lines.filter((line) => line.startsWith('nodeproxy_applied_resource_version{'))
  expect(published).toEqual(['nodeproxy_applied_resource_version{resource="services"} 12'])
})

test('events that arrive together are marked once, with the state after the last of them', async () => {
  const applied: (() => void)[] = []
  const metrics = createMetrics()
  const versions = new AppliedVersions({
    metrics,
    afterApply: (callback) => applied.push(callback),
  })
  let current = watchState('v1', '55')
  versions.markSoon(() => current)
  versions.markSoon(() => current)
  current = watchState('v1', '56')
  await new Promise(setImmediate)
  expect(applied.length).toBe(1)
  expect(await metrics.text()).not.toContain('resource="nodes"} 56')
  applied[0]?.()
  expect(await metrics.text()).toContain('resource="nodes"} 56')
})
