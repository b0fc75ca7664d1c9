import { expect, onTestFinished, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { endpointsController } from '../endpoints/endpoints-controller.ts'
import { endpointSlicesController } from '../endpoints/endpointslices-controller.ts'
import { readMeta } from '../objects/object-meta.ts'
import { electable } from '../testing/electable.ts'
import { createFakeCluster, type FakeCluster, refusal } from '../testing/fake-cluster.ts'
import { rawEndpoints, rawPod, rawService } from '../testing/fixtures.ts'
import { createRecordingObserver } from '../testing/recording-observer.ts'
import type { Controller } from './controller.ts'
import type { LoopTiming } from './controller-loop.ts'
import { alone, type Leadership, Runner } from './runner.ts'
import { eventWrite } from './write.ts'

interface Options {
  readonly cluster?: FakeCluster
  readonly controllers?: readonly Controller[]
  readonly leadership?: Leadership
  readonly timing?: Partial<LoopTiming>
}

function start(options: Options = {}) {
  const { controllers = [endpointsController], leadership = alone, timing = {} } = options
  const cluster = options.cluster ?? createFakeCluster()
  const clock = new FakeClock()
  const observer = createRecordingObserver()
  const { follower, writer } = cluster
  const parts = {
    controllers,
    follower,
    writerOf: () => writer,
    clock,
    leadership,
    observer,
    timing,
  }
  const stop = new AbortController()
  const running = new Runner(parts).run(stop.signal)
  const end = (): Promise<void> => {
    stop.abort()
    return running
  }
  onTestFinished(end)
  return { cluster, clock, observer, end }
}

const CREATE = 'create endpoints/shop/web'

test('a change reconciles the keys that it affects, each once', async () => {
  const { cluster, clock, observer } = start()
  cluster.put('services', rawService())
  cluster.put('pods', rawPod(1))
  await clock.advance(0)
  expect(cluster.log).toEqual([CREATE])
  expect(observer.records).toEqual(['wrote endpoints create done'])
})

test('nothing is written before everything is listed', async () => {
  const cluster = createFakeCluster()
  cluster.put('services', rawService())
  const listed: (() => void)[] = []
  const follower: FakeCluster['follower'] = {
    isConnected: () => true,
    follow: (collection, handlers, signal) =>
      cluster.follower.follow(
        collection,
        { ...handlers, listed: (version) => void listed.push(() => handlers.listed(version)) },
        signal,
      ),
  }
  const { clock } = start({ cluster: { ...cluster, follower } })
  for (const notify of listed.slice(1)) notify()
  await clock.advance(0)
  expect(cluster.log).toEqual([])
  listed[0]?.()
  await clock.advance(0)
  expect(cluster.log).toEqual([CREATE])
})

test('a reconcile sees own writes before the watch delivers them', async () => {
  const { cluster, clock } = start()
  cluster.put('services', rawService())
  cluster.hold()
  await clock.advance(0)
  expect(cluster.all('endpoints')).toHaveLength(1)
  cluster.notify('services', rawService({}, { labels: { team: 'a' } }))
  await clock.advance(0)
  expect(cluster.log).toEqual([CREATE, 'patch endpoints/shop/web'])
  cluster.release()
  await clock.advance(60_000)
  expect(cluster.log).toHaveLength(2)
})

test('after a conflict the object is read and the write repeated for its new state', async () => {
  const { cluster, clock, observer } = start()
  cluster.put('services', rawService())
  await clock.advance(0)
  cluster.put('pods', rawPod(1))
  cluster.hold()
  cluster.put('endpoints', rawEndpoints([]))
  await clock.advance(5)
  expect(cluster.log.slice(1)).toEqual([
    'patch endpoints/shop/web',
    'read endpoints/shop/web',
    'patch endpoints/shop/web',
  ])
  expect(observer.records.slice(1)).toEqual([
    'wrote endpoints patch conflict',
    'retried endpoints',
    'wrote endpoints patch done',
  ])
})

test('a refused creation makes the runner read the object that the caches do not have yet', async () => {
  const { cluster, clock } = start()
  cluster.put('services', rawService())
  cluster.hold()
  cluster.put('endpoints', rawEndpoints([]))
  await clock.advance(5)
  expect(cluster.log).toEqual([CREATE, 'read endpoints/shop/web', 'patch endpoints/shop/web'])
})

test('an object that was deleted before the caches know of it is created again', async () => {
  const { cluster, clock } = start()
  cluster.put('services', rawService())
  await clock.advance(0)
  cluster.put('pods', rawPod(1))
  cluster.hold()
  cluster.remove('endpoints', 'shop/web')
  await clock.advance(5)
  expect(cluster.log).toEqual([CREATE, 'patch endpoints/shop/web', CREATE])
})

test('a problem is reported once however many keys it concerns, and once when it is over', async () => {
  const { cluster, clock, observer } = start()
  cluster.intercept = async () => refusal(500)
  for (const name of ['a', 'b', 'c']) {
    cluster.put('services', rawService({}, { name, uid: name }))
  }
  await clock.advance(100)
  const problem = 'problem endpoints NP_CONTROLLERS_WRITE'
  expect(observer.records.filter((one) => one === problem)).toHaveLength(1)
  cluster.intercept = async () => undefined
  await clock.advance(1_000)
  expect(observer.records.at(-1)).toBe('healed endpoints NP_CONTROLLERS_WRITE')
  expect(cluster.all('endpoints')).toHaveLength(3)
})

test('retries come after 5 ms, 10 ms, 20 ms, …', async () => {
  const { cluster, clock } = start()
  const times: number[] = []
  const began = clock.now()
  cluster.intercept = async () => {
    times.push(clock.now() - began)
    return refusal(503)
  }
  cluster.put('services', rawService())
  await clock.advance(100)
  expect(times).toEqual([0, 5, 15, 35, 75])
})

test('a reconcile that throws does not affect other keys', async () => {
  const faulty: Controller = {
    ...endpointsController,
    reconcile(key, ...rest) {
      if (key === 'shop/bad') throw new TypeError('oops')
      return endpointsController.reconcile(key, ...rest)
    },
  }
  const { cluster, clock, observer } = start({ controllers: [faulty] })
  cluster.put('services', rawService({}, { name: 'bad' }))
  cluster.put('services', rawService())
  await clock.advance(0)
  expect(cluster.log).toEqual([CREATE])
  expect(observer.records).toContain('problem endpoints NP_CONTROLLERS_BUG')
})

test('a namespace that is being emptied is no problem', async () => {
  const { cluster, clock, observer } = start()
  const words = 'unable to create new content in namespace shop because it is being terminated'
  cluster.intercept = async () => refusal(403, words)
  cluster.put('services', rawService())
  await clock.advance(60_000)
  expect(observer.records).toEqual(['wrote endpoints create failed'])
})

test('no more writes at once than workers, and never two for one key', async () => {
  const { cluster, clock } = start({ timing: { workers: 2 } })
  let [running, most] = [0, 0]
  const gates: (() => void)[] = []
  cluster.intercept = async () => {
    running++
    most = Math.max(most, running)
    await new Promise<void>((resolve) => gates.push(resolve))
    running--
    return undefined
  }
  for (const name of ['a', 'b', 'c']) {
    cluster.put('services', rawService({}, { name, uid: name }))
    cluster.put('services', rawService({}, { name, uid: name }))
  }
  await clock.advance(0)
  expect(gates).toHaveLength(2)
  for (let open = gates.shift(); open !== undefined; open = gates.shift()) {
    open()
    await clock.advance(0)
  }
  expect(most).toBe(2)
  expect(cluster.log.filter((one) => one.startsWith('create'))).toHaveLength(3)
})

test('a refusal with another status is a problem of its own', async () => {
  const { cluster, clock, observer } = start()
  const codes = [403, 500]
  cluster.intercept = async () => refusal(codes.shift() ?? 500)
  for (const name of ['a', 'b']) cluster.put('services', rawService({}, { name, uid: name }))
  await clock.advance(0)
  const problems = observer.records.filter((one) => one.startsWith('problem'))
  expect(problems).toHaveLength(2)
})

test('a replica that lost its leadership discards its problems, and reports them again when it leads again', async () => {
  const { leadership, lead } = electable()
  const { cluster, clock, observer } = start({ leadership })
  cluster.intercept = async () => refusal(500)
  cluster.put('services', rawService())
  for (const leads of [true, false, true]) {
    lead(leads)
    await clock.advance(1)
  }
  const problems = observer.records.filter((one) => one.startsWith('problem'))
  expect(problems).toHaveLength(2)
})

test('only the leader writes; a new leader reconciles everything', async () => {
  const { leadership, lead, listeners } = electable()
  const { cluster, clock, end } = start({ leadership })
  cluster.put('services', rawService())
  await clock.advance(0)
  expect(cluster.log).toEqual([])
  lead(true)
  await clock.advance(0)
  expect(cluster.log).toEqual([CREATE])
  lead(false)
  cluster.remove('endpoints', 'shop/web')
  await clock.advance(60_000)
  expect(cluster.log).toEqual([CREATE])
  lead(true)
  await clock.advance(0)
  expect(cluster.log).toEqual([CREATE, CREATE])
  await end()
  expect(listeners.size).toBe(0)
})

test('a stopped runner finishes its writes, starts none and leaves no timer', async () => {
  const { cluster, clock, end } = start()
  const { promise, resolve } = Promise.withResolvers<undefined>()
  cluster.intercept = () => promise
  cluster.put('services', rawService())
  await clock.advance(0)
  let ended = false
  const ending = end().then(() => (ended = true))
  await clock.advance(0)
  expect(ended).toBe(false)
  resolve(undefined)
  await ending
  cluster.put('pods', rawPod(1))
  await clock.advance(60_000)
  expect(cluster.log).toEqual([CREATE])
  expect(clock.pending()).toEqual([])
})

test('of several writes for one key the rest is dropped when the run ends', async () => {
  const { cluster, clock, end } = start({ controllers: [endpointSlicesController] })
  const { promise, resolve } = Promise.withResolvers<undefined>()
  cluster.intercept = () => promise
  for (let serial = 0; serial < 150; serial++) cluster.put('pods', rawPod(serial))
  cluster.put('services', rawService())
  await clock.advance(0)
  const ending = end()
  await clock.advance(0)
  resolve(undefined)
  await ending
  expect(cluster.log).toEqual(['create endpointslices/shop/'])
})

test('a list after an outage reconciles changed objects, and causes no write for others', async () => {
  const { cluster, clock } = start()
  cluster.put('services', rawService())
  await clock.advance(0)
  cluster.relist()
  await clock.advance(0)
  expect(cluster.log).toEqual([CREATE])
})

test('reconciles again when a reconcile requests it', async () => {
  const { cluster, clock } = start()
  cluster.put('endpoints', rawEndpoints([], { creationTimestamp: new Date(clock.now()).toJSON() }))
  await clock.advance(59_999)
  expect(cluster.log).toEqual([])
  await clock.advance(1)
  expect(cluster.log).toEqual(['delete endpoints/shop/web'])
})

test('a bug in a follower ends the run', async () => {
  const cluster = createFakeCluster()
  const follower = {
    follow: () => Promise.reject(new TypeError('oops')),
    isConnected: () => true,
  }
  const writerOf = () => cluster.writer
  const parts = { follower, writerOf, clock: new FakeClock(), leadership: alone }
  const observer = createRecordingObserver()
  const runner = new Runner({ controllers: [endpointsController], observer, ...parts })
  await expect(runner.run(new AbortController().signal)).rejects.toThrow('oops')
})

test('a loop that reconciled for 10 ms yields to the event loop', async () => {
  const looked: string[] = []
  const slow: Controller = {
    ...endpointsController,
    reconcile(key) {
      looked.push(key)
      clock.elapse(10)
      return { writes: [] }
    },
  }
  const { cluster, clock } = start({ controllers: [slow], timing: { turnMs: 20 } })
  await clock.advance(0)
  for (const name of ['a', 'b', 'c', 'd']) cluster.put('services', rawService({}, { name }))
  await clock.advance(0)
  expect(looked).toEqual(['shop/a', 'shop/b'])
  await clock.advance(0)
  expect(looked).toEqual(['shop/a', 'shop/b', 'shop/c', 'shop/d'])
})

test('Events that are too many for their object are not written, and counted', async () => {
  const meta = readMeta(rawService())
  const event = eventWrite(
    { apiVersion: 'v1', kind: 'Service', meta },
    { controller: 'test', type: 'Normal', reason: 'Seen', message: 'again' },
    0,
  )
  const controller: Controller = {
    name: 'test',
    account: 'test',
    watches: { services: ({ key }) => [key] },
    reconcile: () => ({ writes: Array.from({ length: 27 }, () => event) }),
  }
  const { cluster, clock, observer } = start({ controllers: [controller] })
  cluster.put('services', rawService())
  for (let turn = 0; turn < 10; turn++) await clock.advance(0)
  expect(cluster.log).toHaveLength(25)
  const outcomes = observer.records.map((record) => record.split(' ').at(-1))
  expect(outcomes.filter((one) => one === 'done')).toHaveLength(25)
  expect(outcomes.filter((one) => one === 'suppressed')).toHaveLength(2)
})
