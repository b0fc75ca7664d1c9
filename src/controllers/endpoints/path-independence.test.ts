import fc from 'fast-check'
import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, objectAt, scalarText, stringAt } from '../../lib/json.ts'
import { createFakeCluster, type FakeCluster } from '../testing/fake-cluster.ts'
import {
  namedPorts,
  type PodParts,
  rawNode,
  rawPod,
  rawService,
  readyCondition,
  readyNode,
} from '../testing/fixtures.ts'
import { reconcile } from '../testing/reconcile.ts'
import { endpointsController } from './endpoints-controller.ts'
import { endpointSlicesController } from './endpointslices-controller.ts'

const CONTROLLERS = [endpointsController, endpointSlicesController]
const SPEC = { ports: [{ name: 'http', port: 80, targetPort: 'web' }] }
/** Hints change with every pod, too. */
const HINTED = { annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } }

const podParts: fc.Arbitrary<PodParts> = fc
  .record({
    ready: fc.boolean(),
    leaving: fc.boolean(),
    app: fc.constantFrom('web', 'db'),
    web: fc.constantFrom(1, 2),
    zone: fc.constantFrom('a', 'b', 'c'),
  })
  .map(({ ready, leaving, app, web, zone }) => ({
    spec: { ...namedPorts({ web }).spec, nodeName: `node-${zone}` },
    metadata: {
      labels: { app },
      ...(leaving ? { deletionTimestamp: '2026-01-03T00:00:00Z' } : {}),
    },
    status: { conditions: [readyCondition(ready)] },
  }))

/** A pod appears, changes or goes, and then perhaps every controller reconciles. */
const event = fc.record({
  serial: fc.nat({ max: 150 }),
  parts: fc.option(podParts, { nil: undefined }),
  look: fc.integer({ min: 0, max: 9 }).map((dice) => dice === 0),
})

async function play(
  events: Iterable<{ serial: number; parts: PodParts | undefined; look: boolean }>,
) {
  const cluster = createFakeCluster()
  cluster.put('services', rawService(SPEC, HINTED))
  for (const [i, zone] of ['a', 'b', 'c'].entries()) {
    cluster.put('nodes', rawNode(`node-${zone}`, zone, readyNode(String(i + 2))))
  }
  for (const { serial, parts, look } of events) {
    if (parts === undefined) cluster.remove('pods', `shop/web-${serial}`)
    else cluster.put('pods', rawPod(serial, parts))
    if (look) await settle(cluster)
  }
  await settle(cluster)
  return cluster
}

async function settle(cluster: FakeCluster): Promise<void> {
  for (const controller of CONTROLLERS) await reconcile(cluster, { controller })
}

function subsets(cluster: FakeCluster): unknown {
  return cluster.get('endpoints', 'shop/web')?.['subsets']
}

/** Every endpoint with its ports, in any order, and in whatever slice it stands. */
function endpoints(cluster: FakeCluster): readonly string[] {
  return cluster
    .all('endpointslices')
    .flatMap((slice) =>
      arrayAt(slice, 'endpoints').map((one) => JSON.stringify([slice['ports'], one])),
    )
    .toSorted()
}

/** `10.0.0.1:8080 ready` for what the slices offer, without those that leave. */
function offered(cluster: FakeCluster): readonly string[] {
  return cluster
    .all('endpointslices')
    .flatMap((slice) =>
      arrayAt(slice, 'endpoints')
        .filter((one) => objectAt(one, 'conditions')['terminating'] === false)
        .map((one) => {
          const ready = scalarText(objectAt(one, 'conditions')['ready'])
          return `${arrayAt(one, 'addresses').map(scalarText).join()} ${portsOf(slice)} ${ready}`
        }),
    )
    .toSorted()
}

function published(cluster: FakeCluster): readonly string[] {
  const list = (subset: JsonObject, name: string): readonly string[] =>
    arrayAt(subset, name).map(
      (one) => `${stringAt(one, 'ip')} ${portsOf(subset)} ${name === 'addresses'}`,
    )
  return arrayAt(cluster.get('endpoints', 'shop/web'), 'subsets')
    .flatMap((one) =>
      ['addresses', 'notReadyAddresses'].flatMap((name) => list(one as JsonObject, name)),
    )
    .toSorted()
}

function portsOf(object: JsonObject): string {
  return arrayAt(object, 'ports')
    .map((port) => scalarText(objectAt(port)['port']))
    .join()
}

test('the writes depend on the present Pods and not on their history', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 400, size: 'max' }), async (events) => {
      const played = await play(events)
      const last = new Map(events.map((one) => [one.serial, { ...one, look: false }]))
      const fresh = await play([...last.values()].toReversed())
      expect(subsets(played)).toEqual(subsets(fresh))
      expect(endpoints(played)).toEqual(endpoints(fresh))
      expect(offered(played)).toEqual(published(played))
      const sizes = played.all('endpointslices').map((one) => arrayAt(one, 'endpoints').length)
      expect(Math.max(...sizes)).toBeLessThanOrEqual(100)
      expect(sizes.length === 1 || !sizes.includes(0)).toBe(true)
      const before = played.log.length
      await settle(played)
      expect(played.log.slice(before)).toEqual([])
    }),
    { numRuns: 30 },
  )
})
