import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Family } from '../../lib/ip.ts'
import { arrayAt, type JsonObject, objectAt } from '../../lib/json.ts'
import { readService, type ServiceObject } from '../objects/service-object.ts'
import { pool } from './testing/pools.ts'
import {
  addressesOf,
  type Controlled,
  controllerOf,
  loadBalanced,
  reconciled,
} from './testing/scene.ts'

const POOLS = [
  pool(['192.0.2.1-192.0.2.2', 'fd00::1-fd00::2'], { name: 'blue' }),
  pool(['192.0.2.11'], { name: 'green', namespaceSelector: { matchLabels: { tier: 'gold' } } }),
  pool(['192.0.2.21-192.0.2.22'], { name: 'red', autoAssign: false }),
]

/** Milliseconds in which writes that met a newer version are made again. */
const LONG = 1_000

/** What a history does to a Service: it appears, changes or goes. */
const service = fc.record({
  type: fc.constantFrom('LoadBalancer', 'LoadBalancer', 'LoadBalancer', 'ClusterIP'),
  pool: fc.constantFrom('', '', '', 'blue', 'green', 'red', 'none'),
  ips: fc.constantFrom('', '', '', '192.0.2.2', '192.0.2.11', '192.0.2.21,fd00::2', '10.0.0.1'),
  key: fc.constantFrom('', '', 'k', 'l'),
  port: fc.constantFrom(80, 443),
  policy: fc.constantFrom('Cluster', 'Cluster', 'Local'),
  families: fc.constantFrom(['IPv4'], ['IPv4'], ['IPv6'], ['IPv4', 'IPv6']),
  required: fc.boolean(),
})

const event = fc.record({
  serial: fc.nat({ max: 6 }),
  /** Undefined: the Service is deleted. */
  parts: fc.option(service, { freq: 6, nil: undefined }),
  /** Undefined: the labels of the namespace stay. */
  tier: fc.constantFrom(undefined, undefined, undefined, undefined, 'gold', 'iron'),
  look: fc.boolean(),
})

type Event = typeof event extends fc.Arbitrary<infer T> ? T : never

function rawOf(serial: number, parts: NonNullable<Event['parts']>, now: JsonObject | undefined) {
  const { type, pool: name, ips, key, port, policy, families, required } = parts
  const made = loadBalanced(`s${serial}`, {
    requests: { pool: name, ips, 'sharing-key': key },
    createdOn: `0${1 + ((serial * 3) % 7)}`,
    spec: {
      type,
      ports: [{ port }],
      externalTrafficPolicy: policy,
      ipFamilies: [...families],
      ipFamilyPolicy: required ? 'RequireDualStack' : 'PreferDualStack',
    },
  })
  return now === undefined ? made : { ...made, status: now['status'] ?? {} }
}

/** Returns when the controller has nothing left to write. */
async function settle({ cluster, clock }: Controlled): Promise<void> {
  let length: number
  do {
    length = cluster.log.length
    await clock.advance(LONG)
  } while (cluster.log.length > length)
}

async function apply(running: Controlled, { serial, parts, tier, look }: Event): Promise<void> {
  const { cluster } = running
  const key = `shop/s${serial}`
  if (parts === undefined) cluster.remove('services', key)
  else cluster.put('services', rawOf(serial, parts, cluster.get('services', key)))
  if (tier !== undefined) {
    cluster.put('namespaces', { metadata: { name: 'shop', uid: 'shop', labels: { tier } } })
  }
  if (look) await settle(running)
}

/** The keys of the Services that have the same address without being allowed to share it. */
function clashes(services: readonly ServiceObject[]): readonly string[] {
  return services.flatMap((one, index) =>
    services.slice(index + 1).flatMap((other) => {
      const isShared = one.loadBalancer.ingress.some((ip) =>
        other.loadBalancer.ingress.includes(ip),
      )
      return isShared && !mayShare(one, other) ? [`${one.meta.key} ${other.meta.key}`] : []
    }),
  )
}

function mayShare(a: ServiceObject, b: ServiceObject): boolean {
  const hasKey =
    a.loadBalancer.sharingKey !== '' && a.loadBalancer.sharingKey === b.loadBalancer.sharingKey
  const ports = new Set([...a.ports, ...b.ports].map(({ port, protocol }) => `${protocol}${port}`))
  return (
    hasKey &&
    ports.size === a.ports.length + b.ports.length &&
    a.loadBalancer.isLocal === b.loadBalancer.isLocal
  )
}

test('a history of changes leaves no clash, nobody waiting for a free address, and nothing to do for another start', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 60, size: 'max' }), async (events) => {
      const running = await reconciled({ services: [], pools: POOLS, namespaces: { shop: {} } })
      let isSettled = true
      for (const one of events) {
        const before = running.cluster.all('services')
        await apply(running, one)
        if (isSettled && one.look) for (const raw of before) expectUntouched(running, raw, one)
        isSettled = one.look
      }
      await settle(running)
      const raws = running.cluster.all('services')
      const services = raws.map(readService)
      expect(clashes(services)).toEqual([])
      for (const [index, one] of services.entries()) expectComplete(one, raws[index]!)
      expectNoFree(services)
      const controller = controllerOf({ pools: POOLS })
      for (const { meta } of services) {
        expect(controller.reconcile(meta.key, running.cluster.view, 0, 0).writes).toEqual([])
      }
      const restarted = await reconciled({
        services: raws,
        pools: POOLS,
        namespaces: { shop: tierOf(running) },
      })
      await settle(restarted)
      expect(restarted.cluster.log).toEqual([])
    }),
    { numRuns: 150 },
  )
})

/** A Service that has what it requests and shares nothing keeps its addresses while another one changes. */
function expectUntouched({ cluster }: Controlled, raw: JsonObject, { serial }: Event): void {
  const { meta, loadBalancer } = readService(raw)
  const { condition, sharingKey } = loadBalancer
  if (meta.name === `s${serial}` || condition.status !== 'True' || sharingKey !== '') return
  const after = cluster.get('services', meta.key)
  expect([meta.key, addressesOf(after ?? {})]).toEqual([meta.key, addressesOf(raw)])
}

/** What a Service reports is what it has. */
function expectComplete({ meta, families, loadBalancer }: ServiceObject, raw: JsonObject): void {
  const { condition, ingress, isRequested } = loadBalancer
  const conditions = arrayAt(raw, 'status', 'conditions').length
  if (!isRequested) expect([meta.key, ingress, conditions]).toEqual([meta.key, [], 0])
  else if (condition.status === 'True' && condition.reason !== 'FamilyNotInPools') {
    const found = ingress.map((ip) => (ip.includes(':') ? 6 : 4))
    expect([meta.key, found]).toEqual([meta.key, families])
  }
}

const BLUE: Readonly<Record<Family, readonly string[]>> = {
  4: ['192.0.2.1', '192.0.2.2'],
  6: ['fd00::1', 'fd00::2'],
}

/**
 * No Service waits for an address of the pool blue, which is for all, while one of its family is free. One that
 * requires both families waits until both are.
 */
function expectNoFree(services: readonly ServiceObject[]): void {
  const held = new Set(services.flatMap(({ loadBalancer }) => loadBalancer.ingress))
  for (const { meta, families, loadBalancer } of services) {
    const { condition, ingress, poolName, isRequested, requiresFamilies } = loadBalancer
    const mayBeBlue = poolName === '' || poolName === 'blue'
    if (!isRequested || condition.reason !== 'PoolExhausted' || !mayBeBlue) continue
    const isServed = (family: Family): boolean =>
      poolName === 'blue'
        ? BLUE[family].some((ip) => ingress.includes(ip))
        : ingress.some((ip) => ip.includes(':') === (family === 6))
    const missing = families.filter((family) => !isServed(family))
    const free = missing.filter((family) => BLUE[family].some((ip) => !held.has(ip)))
    expect([meta.key, free.length]).toEqual([meta.key, requiresFamilies ? expect.any(Number) : 0])
    expect([meta.key, missing.length > 0 && free.length === missing.length]).toEqual([
      meta.key,
      false,
    ])
  }
}

function tierOf({ cluster }: Controlled): JsonObject {
  return objectAt(cluster.get('namespaces', 'shop'), 'metadata', 'labels')
}
