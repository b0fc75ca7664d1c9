import { expect, test } from 'vitest'
import { FAST_TIMING } from '../../announcement/election-timing.ts'
import { leaseName } from '../../announcement/lease-object.ts'
import { statusFailure } from '../../client/http/failure.ts'
import type { IpAddress } from '../../lib/ip.ts'
import { type Json, type JsonObject, mergePatch, stringAt } from '../../lib/json.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { ElectionRunner, type ElectionRunnerParts } from './election-runner.ts'

const IP = '192.0.2.50' as IpAddress
const OTHER = '192.0.2.51' as IpAddress
const bothPlans = new Map([
  [IP, ['n1']],
  [OTHER, ['n1']],
])

/** A watch that lists these objects, by name, and reports no change. */
function followOf(objects: ReadonlyMap<string, Json>): ElectionRunnerParts['leases']['follow'] {
  return ({ decode, onChanges, onListed }) => ({
    async run(signal) {
      await Promise.resolve()
      onChanges(
        [...objects].map(([name, raw]) => ({ key: `kube-system/${name}`, value: decode(raw) })),
      )
      onListed()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return 'aborted'
    },
    state: () => ({ connected: true }) as never,
    keys: () => [],
  })
}

/** Leases in memory; every write succeeds. */
function leasesInMemory() {
  const kept = new Map<string, Json>()
  let version = 0
  const put = async (name: string, value: Json) => {
    version++
    const stored = mergePatch(value, { metadata: { resourceVersion: String(version) } })
    kept.set(name, stored)
    return { ok: true, value: stored } as const
  }
  return {
    kept,
    create: (object: JsonObject) => put(stringAt(object, 'metadata', 'name'), object),
    patch: (name: string, patch: JsonObject) => put(name, mergePatch(kept.get(name), patch)),
    get: async (name: string) => ({ ok: true, value: kept.get(name) }) as const,
    remove: async (name: string) => ({ ok: true, value: kept.delete(name) }) as const,
    follow: followOf(kept),
  }
}

/** A runner whose preparations end when the test resolves them. */
function scene() {
  const clock = new FakeClock()
  const leases = leasesInMemory()
  const preparations: PromiseWithResolvers<void>[] = []
  let announced: ReadonlyMap<IpAddress, number> = new Map()
  const runner = new ElectionRunner({
    leases,
    links: {
      announce: async (addresses) => {
        announced = addresses
      },
    },
    timing: FAST_TIMING,
    clock,
    monotonic: () => clock.now(),
    nodeName: 'n1',
    onWrite: () => undefined,
    onAnswers: () => {
      const preparation = Promise.withResolvers<void>()
      preparations.push(preparation)
      return preparation.promise
    },
  })
  return {
    clock,
    runner,
    answered: () => [...announced.keys()],
    until: (ip: IpAddress) => announced.get(ip),
    holder: (ip: IpAddress) => stringAt(leases.kept.get(leaseName(ip)), 'spec', 'holderIdentity'),
    /** Contends for an address until this node holds it; the preparation of its answers. */
    async begin(ip: IpAddress) {
      runner.plan(new Map([[ip, ['n1']]]))
      await clock.advance(FAST_TIMING.leaseDuration)
      return preparations.at(-1)!
    },
  }
}

test('a Lease that cannot be created, because its namespace is absent, is tried again only later', async () => {
  const clock = new FakeClock()
  const requests: string[] = []
  const refused = (verb: string) => () => {
    requests.push(verb)
    // Without a pause they would never end.
    if (requests.length > 100) return new Promise<never>(() => undefined)
    return Promise.resolve({ ok: false, failure: statusFailure(404, {}) } as const)
  }
  const outcomes: string[] = []
  const runner = new ElectionRunner({
    leases: {
      create: refused('create'),
      get: refused('get'),
      patch: refused('patch'),
      remove: refused('remove'),
      follow: followOf(new Map()),
    },
    links: { announce: async () => undefined },
    timing: FAST_TIMING,
    clock,
    monotonic: () => clock.now(),
    nodeName: 'n1',
    onWrite: (reason, outcome) => outcomes.push(`${reason} ${outcome}`),
    onAnswers: async () => undefined,
  })
  runner.plan(new Map([[IP, ['n1']]]))
  await clock.advance(0)
  expect([requests, outcomes]).toEqual([['create'], ['create failed']])
  await clock.advance(FAST_TIMING.retryInterval)
  expect(requests).toEqual(['create', 'create'])
  await runner.close()
})

test('an address is not answered before it is prepared, although its Lease is renewed meanwhile', async () => {
  const { clock, runner, answered, begin } = scene()
  const prepared = await begin(IP)
  await clock.advance(FAST_TIMING.renewInterval + 100)
  expect(answered()).toEqual([])
  prepared.resolve()
  await clock.advance(0)
  expect(answered()).toEqual([IP])
  await runner.close()
})

test('a preparation delays an address by half a second at most, whatever begins meanwhile', async () => {
  const { clock, runner, answered } = scene()
  runner.plan(new Map([[IP, ['n1']]]))
  await clock.advance(300)
  runner.plan(bothPlans)
  await clock.advance(FAST_TIMING.leaseDuration - 300)
  expect(runner.answering).toEqual([IP])
  await clock.advance(499)
  expect([runner.answering, answered()]).toEqual([[IP, OTHER], []])
  await clock.advance(1)
  expect(answered()).toEqual([IP])
  await clock.advance(299)
  expect(answered()).toEqual([IP])
  await clock.advance(1)
  expect(answered()).toEqual([IP, OTHER])
  await runner.close()
})

test('the renewal of an address does not wait for the preparation of another one', async () => {
  const { clock, runner, answered, until, begin } = scene()
  const prepared = await begin(IP)
  prepared.resolve()
  await clock.advance(0)
  runner.plan(bothPlans)
  await clock.advance(FAST_TIMING.leaseDuration + 400)
  expect([runner.answering, answered()]).toEqual([[IP, OTHER], [IP]])
  expect(until(IP)).toBeGreaterThan(clock.now() + 200)
  await runner.close()
})

test('an address that ends while it is prepared is not answered, and its Lease is released', async () => {
  const { clock, runner, answered, holder, begin } = scene()
  const prepared = await begin(IP)
  expect(holder(IP)).toBe('n1')
  runner.plan(new Map())
  await clock.advance(10)
  expect([runner.answering, holder(IP)]).toEqual([[], ''])
  prepared.resolve()
  await clock.advance(1_000)
  expect(answered()).toEqual([])
  await runner.close()
})
