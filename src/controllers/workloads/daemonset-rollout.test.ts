import { expect, test } from 'vitest'
import {
  arrayAt,
  type JsonObject,
  mergePatch,
  objectAt,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { readPod } from '../objects/pod-object.ts'
import { daemonSetController } from './daemonset-controller.ts'
import { daemonSet, NOW, node, daemonScene as scene, template } from './testing/daemon-scene.ts'

const IMAGE_B = template({ containers: [{ name: 'main', image: 'b' }] })
const NODES = ['a', 'b', 'c', 'd'].map((name) => node(name))
const rolling = (rollingUpdate: JsonObject): JsonObject => ({ updateStrategy: { rollingUpdate } })

/** Four nodes with available Pods, and then another template. */
async function rolloutScene(spec: JsonObject) {
  const whole = scene(daemonSet(spec), ...NODES)
  await whole.settled()
  whole.serve(NOW)
  await whole.settled()
  whole.change({ template: IMAGE_B })
  await whole.settled()
  const leaving = () => whole.pods().filter((one) => readPod(one).meta.terminating).length
  return { ...whole, leaving }
}

test.each<[JsonObject, number]>([
  [{}, 1],
  [rolling({ maxUnavailable: 2 }), 2],
  [rolling({ maxUnavailable: '50%' }), 2],
  [rolling({ maxUnavailable: '30%' }), 2],
  [rolling({ maxUnavailable: 9 }), 4],
  [{ updateStrategy: { type: 'OnDelete' } }, 0],
])('with %j another template replaces %i Pods first', async (spec, expected) => {
  const { leaving, pods, serve, settled, status } = await rolloutScene(spec)
  expect([leaving(), pods().length]).toEqual([expected, 4])
  for (let round = 0; round < 9; round++) {
    serve(NOW)
    await settled()
  }
  const isDone = expected > 0
  expect(status()['updatedNumberScheduled']).toBe(isDone ? 4 : undefined)
  expect(status()['numberAvailable']).toBe(4)
})

test('Pods of an old template that are not available are replaced without waiting', async () => {
  const { pods, act, leaving, settled } = await rolloutScene({})
  for (const pod of pods()) if (!readPod(pod).meta.terminating) act(pod, 'unready', NOW)
  await settled()
  expect(leaving()).toBe(4)
})

test('the next Pod is replaced when the new one has been ready for minReadySeconds', async () => {
  const { settled, serve, leaving, cluster } = await rolloutScene({ minReadySeconds: 10 })
  expect(leaving()).toBe(4)
  serve(NOW)
  await settled()
  serve(NOW)
  await settled()
  expect(leaving()).toBe(0)
  const { againMs } = daemonSetController.reconcile('shop/web', cluster.view, NOW + 4_000, 0)
  expect(againMs).toBe(6_000)
})

test('in a surge the new Pod is made beside the old one, which goes when the new one is available', async () => {
  const { pods, leaving, settled, serve, used, status } = await rolloutScene(
    rolling({ maxUnavailable: 0, maxSurge: 1 }),
  )
  expect(used()).toEqual(['a', 'a', 'b', 'c', 'd'])
  expect(leaving()).toBe(0)
  serve(NOW)
  await settled()
  expect(leaving()).toBe(1)
  for (let round = 0; round < 9; round++) {
    serve(NOW)
    await settled()
  }
  expect(pods()).toHaveLength(4)
  expect(status()).toMatchObject({ updatedNumberScheduled: 4, numberAvailable: 4 })
})

test('undoing a change returns to the old revision under a new number; the oldest are deleted', async () => {
  const { cluster, settled, serve, change } = scene(
    daemonSet({ revisionHistoryLimit: 2 }),
    node('a'),
  )
  const turn = async (image: string) => {
    change({ template: template({ containers: [{ name: 'main', image }] }) })
    for (let round = 0; round < 4; round++) {
      await settled()
      serve(NOW)
    }
    await settled()
  }
  const numbers = () =>
    cluster
      .all('controllerrevisions')
      .map((one) => {
        const [container] = arrayAt(one, 'data', 'spec', 'template', 'spec', 'containers')
        return `${one['revision'] as number}${stringAt(container, 'image')}`
      })
      .toSorted()
  for (const image of ['a', 'b', 'c']) await turn(image)
  expect(numbers()).toEqual(['1a', '2b', '3c'])
  await turn('a')
  expect(numbers()).toEqual(['2b', '3c', '4a'])
  await turn('d')
  expect(numbers()).toEqual(['3c', '4a', '5d'])
  expect(valueAt(cluster.all('controllerrevisions')[0], 'data', 'spec', 'template', '$patch')).toBe(
    'replace',
  )
})

test('revisions that nobody controls are adopted, so that nothing is replaced', async () => {
  const { cluster, settled, serve, pods } = scene(daemonSet(), node('a'))
  await settled()
  serve(NOW)
  await settled()
  for (const collection of ['controllerrevisions', 'pods'] as const) {
    for (const one of cluster.all(collection)) {
      cluster.put(collection, mergePatch(one, { metadata: { ownerReferences: [] } }) as JsonObject)
    }
  }
  const [before] = pods()
  cluster.put('daemonsets', daemonSet({}, { uid: 'again' }))
  await settled()
  expect(pods()).toHaveLength(1)
  expect(readPod(pods()[0]!).meta.name).toBe(readPod(before!).meta.name)
  const owner = { ownerReferences: [{ uid: 'again', controller: true }] }
  expect(cluster.all('controllerrevisions')).toMatchObject([{ metadata: owner }])
})

test('where the name of the revision is taken by another template, the next name is another one', async () => {
  const { cluster, run, settled, status } = scene(daemonSet(), node('a'))
  await run()
  const [revision] = cluster.all('controllerrevisions')
  cluster.put('controllerrevisions', {
    ...revision!,
    data: { other: true },
    metadata: { ...objectAt(revision, 'metadata'), ownerReferences: [], labels: {} },
  })
  await settled()
  expect(status()).toMatchObject({ collisionCount: 1, desiredNumberScheduled: 1 })
  expect(cluster.all('controllerrevisions')).toHaveLength(2)
})
