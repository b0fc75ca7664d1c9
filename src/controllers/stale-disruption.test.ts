import { expect, test } from 'vitest'
import type { JsonObject } from '../lib/json.ts'
import { FakeClock } from '../lib/testing/fake-clock.ts'
import { disruptionController } from './disruption-controller.ts'
import { clusterWith } from './testing/cluster-with.ts'
import { conditionOf, LEAVING, type PodParts, rawPod } from './testing/fixtures.ts'
import { runControllers } from './testing/run-controllers.ts'

const PATCHED = 'patch pods/shop/web-1'

/** A Pod that the API of evictions has announced to be deleted; `condition` is laid over the condition. */
function announced(condition: JsonObject = {}, { status, ...parts }: PodParts = {}): JsonObject {
  const evicted = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
    lastTransitionTime: new Date(new FakeClock().now()).toISOString(),
  }
  return rawPod(1, { ...parts, status: { ...status, conditions: [{ ...evicted, ...condition }] } })
}

test('a Pod that is not being deleted two minutes after it was announced is none that will be', async () => {
  const cluster = clusterWith(['pods', announced()])
  const clock = await runControllers(cluster, [disruptionController])
  await clock.advance(119_999)
  expect(cluster.log).toEqual([])
  await clock.advance(1)
  expect(cluster.log).toEqual([PATCHED])
  expect(conditionOf(cluster.get('pods', 'shop/web-1'), 'DisruptionTarget')).toEqual({
    type: 'DisruptionTarget',
    status: 'False',
    lastTransitionTime: new Date(clock.now()).toISOString().replace('.000', ''),
  })
  cluster.relist()
  await clock.advance(600_000)
  expect(cluster.log).toEqual([PATCHED])
})

test('a Pod that is announced again has two minutes again', async () => {
  const cluster = clusterWith(['pods', announced()])
  const clock = await runControllers(cluster, [disruptionController])
  await clock.advance(60_000)
  cluster.put('pods', announced({ lastTransitionTime: new Date(clock.now()).toISOString() }))
  await clock.advance(119_999)
  expect(cluster.log).toEqual([])
  await clock.advance(1)
  expect(cluster.log).toEqual([PATCHED])
})

test('an announcement without a time is stale', async () => {
  const cluster = clusterWith(['pods', announced({ lastTransitionTime: null })])
  await runControllers(cluster, [disruptionController])
  expect(cluster.log).toEqual([PATCHED])
})

test.each<[string, JsonObject, PodParts]>([
  ['is being deleted', {}, LEAVING],
  ['has ended', {}, { status: { phase: 'Failed' } }],
  ['its kubelet ends', { reason: 'TerminationByKubelet' }, {}],
  ['will not be deleted', { status: 'False' }, {}],
])('a Pod that %s keeps the condition', async (_, condition, parts) => {
  const cluster = clusterWith(['pods', announced(condition, parts)])
  const clock = await runControllers(cluster, [disruptionController])
  await clock.advance(600_000)
  expect(cluster.log).toEqual([])
})
