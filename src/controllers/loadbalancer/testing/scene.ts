import { expect } from 'vitest'
import { arrayAt, type JsonObject, objectAt, stringAt } from '../../../lib/json.ts'
import type { FakeClock } from '../../../lib/testing/fake-clock.ts'
import type { Controller } from '../../runner/controller.ts'
import { all, clusterWith } from '../../testing/cluster-with.ts'
import type { FakeCluster } from '../../testing/fake-cluster.ts'
import { rawService } from '../../testing/fixtures.ts'
import { runControllers } from '../../testing/run-controllers.ts'
import type { AddressPoolSpec } from '../address-pool.ts'
import { createLoadBalancerController } from '../loadbalancer-controller.ts'
import { pool } from './pools.ts'

/** What a test sets of a Service: parts of its spec and metadata, the addresses of its status, its day of creation. */
export interface ServiceParts {
  readonly spec?: JsonObject
  readonly labels?: JsonObject
  /** By the names of the annotations without `service.orch.io/load-balancer-`. */
  readonly requests?: Readonly<Record<string, string>>
  readonly namespace?: string
  readonly ingress?: readonly string[]
  readonly createdOn?: string
}

/** A Service of type LoadBalancer, by default in the namespace shop. */
export function loadBalanced(name: string, parts: ServiceParts = {}): JsonObject {
  const { spec, labels = {}, requests = {}, namespace = 'shop', ingress = [], createdOn } = parts
  const annotations = Object.fromEntries(
    Object.entries(requests).map(([key, value]) => [`service.orch.io/load-balancer-${key}`, value]),
  )
  const metadata = {
    name,
    namespace,
    uid: `uid-${name}`,
    labels,
    annotations,
    creationTimestamp: `2026-01-${createdOn ?? '01'}T00:00:00Z`,
  }
  return {
    ...rawService({ type: 'LoadBalancer', ...spec }, metadata),
    status: { loadBalancer: { ingress: ingress.map((ip) => ({ ip })) } },
  }
}

export interface Scene {
  readonly services: readonly JsonObject[]
  /** A text is a pool without a name. */
  readonly pools?: readonly (string | AddressPoolSpec)[]
  readonly loadBalancerClass?: string
  /** Namespaces with labels, by their name. */
  readonly namespaces?: Readonly<Record<string, JsonObject>>
}

/** A cluster in which the controller has reconciled every Service, and the clock that it uses. */
export interface Controlled {
  readonly cluster: FakeCluster
  readonly clock: FakeClock
}

export const THREE = ['192.0.2.1-192.0.2.3']

/** Runs the controller until the test ends; returns when it has reconciled every Service. */
export async function reconciled(scene: Scene): Promise<Controlled> {
  const namespaces = Object.entries(scene.namespaces ?? {}).map(([name, labels]) => ({
    metadata: { name, uid: name, labels },
  }))
  const cluster = clusterWith(...all('namespaces', namespaces), ...all('services', scene.services))
  return { cluster, clock: await runControllers(cluster, [controllerOf(scene)]) }
}

export function controllerOf({
  pools = THREE,
  loadBalancerClass = '',
}: Partial<Scene>): Controller {
  const addressPools = pools.map((one) => (typeof one === 'string' ? pool([one]) : one))
  return createLoadBalancerController({ addressPools, loadBalancerClass })
}

/** Name, addresses, status where it is not True, and reason of each Service: `web 192.0.2.1 Assigned`. */
export function assignments({ cluster }: Pick<Controlled, 'cluster'>): readonly string[] {
  return cluster.all('services').map((service) => {
    const [condition] = arrayAt(service, 'status', 'conditions')
    const status = stringAt(condition, 'status').replace('True', '')
    const parts = [
      stringAt(service, 'metadata', 'name'),
      addressesOf(service).join(),
      status,
      stringAt(condition, 'reason'),
    ]
    return parts.filter((one) => one !== '').join(' ')
  })
}

/** Expects these assignments of a scene, and that nothing is written again after them. */
export async function expectAssigned(scene: Scene, wanted: readonly string[]): Promise<void> {
  const running = await reconciled(scene)
  expect(assignments(running)).toEqual(wanted)
  const writes = running.cluster.log.length
  running.cluster.relist()
  await running.clock.advance(60_000)
  expect(running.cluster.log).toHaveLength(writes)
}

export function addressesOf(service: JsonObject): readonly string[] {
  return arrayAt(service, 'status', 'loadBalancer', 'ingress').map((one) => stringAt(one, 'ip'))
}

/** The message of the condition of a Service. */
export function messageOf({ cluster }: Controlled, name: string): string {
  const [condition] = arrayAt(cluster.get('services', `shop/${name}`), 'status', 'conditions')
  return stringAt(condition, 'message')
}

/** The Events since the log had this length: `Assigned shop/web`. */
export function eventsSince({ cluster }: Controlled, length = 0): readonly string[] {
  return cluster.log
    .slice(length)
    .flatMap((line) => (line.startsWith('record ') ? [line.slice('record '.length)] : []))
}

/** Changes parts of a Service of the namespace shop, as a user does. */
export async function change(
  { cluster, clock }: Controlled,
  name: string,
  { spec = {}, requests }: Pick<ServiceParts, 'spec' | 'requests'>,
): Promise<void> {
  const object = cluster.get('services', `shop/${name}`)
  const metadata = objectAt(object, 'metadata')
  const annotations = objectAt(loadBalanced(name, requests && { requests }), 'metadata')[
    'annotations'
  ]
  cluster.put('services', {
    ...object,
    metadata: requests === undefined ? metadata : { ...metadata, annotations: annotations ?? {} },
    spec: { ...objectAt(object, 'spec'), ...spec },
  })
  await clock.advance(0)
}
