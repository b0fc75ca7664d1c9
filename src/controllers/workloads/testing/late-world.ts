import { type ApiResult, localFailure } from '../../../client/http/failure.ts'
import { isDeepEqual } from '../../../lib/equal.ts'
import { arrayAt, type JsonObject, mergePatch, stringAt, valueAt } from '../../../lib/json.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import type { CollectionName } from '../../cache/collection-route.ts'
import type { View } from '../../cache/object-cache.ts'
import { garbageCollector } from '../../garbagecollector-controller.ts'
import { readMeta } from '../../objects/object-meta.ts'
import type { Controller } from '../../runner/controller.ts'
import type { ObjectFollower } from '../../runner/object-follower.ts'
import type { ObjectWriter } from '../../runner/object-writer.ts'
import { alone, Runner } from '../../runner/runner.ts'
import { createFakeCluster } from '../../testing/fake-cluster.ts'
import { createRecordingObserver } from '../../testing/recording-observer.ts'
import { daemonSetController } from '../daemonset-controller.ts'
import { deploymentController } from '../deployment-controller.ts'
import { jobController } from '../job-controller.ts'
import { replicaSetController } from '../replicaset-controller.ts'
import { statefulSetController } from '../statefulset-controller.ts'
import { type PodEvent, simulateNodes } from './simulated-nodes.ts'

/** The collections whose caches are compared with the store. */
const COMPARED = [
  'pods',
  'nodes',
  'deployments',
  'replicasets',
  'daemonsets',
  'statefulsets',
  'jobs',
  'controllerrevisions',
] as const satisfies readonly CollectionName[]

const TEN_MINUTES = 600_000

/**
 * An API server and the controllers of workloads. While the world is late, requests, answers and events of watches are on
 * their way until `arrive` lets one of them arrive: events of one collection in their order, everything else in any.
 */
export class LateWorld {
  readonly clock = new FakeClock(Date.UTC(2030, 0, 1))
  readonly cluster = createFakeCluster(this.clock)
  readonly #nodes = simulateNodes(this.cluster, 'node-a')
  readonly #observer = createRecordingObserver()
  readonly #stop = new AbortController()
  readonly #events = new Map<CollectionName, (() => void)[]>()
  readonly #messages: (() => void)[] = []
  #view!: View
  #running!: Promise<void>
  #isLate = false
  #losesNext = false

  async start(objects: readonly (readonly [CollectionName, JsonObject])[]): Promise<void> {
    for (const [collection, object] of objects) this.cluster.put(collection, object)
    const probe: Controller = {
      name: 'probe',
      account: 'probe',
      watches: {
        nodes: (_change, view) => {
          this.#view = view
          return []
        },
      },
      reconcile: () => ({ writes: [] }),
    }
    const workloads = [
      deploymentController,
      replicaSetController,
      daemonSetController,
      statefulSetController,
      jobController,
    ]
    const writer = this.#writer()
    const runner = new Runner({
      controllers: [...workloads, garbageCollector, probe],
      follower: this.#follower(),
      writerOf: () => writer,
      clock: this.clock,
      leadership: alone,
      observer: this.#observer,
    })
    this.#running = runner.run(this.#stop.signal)
    await this.settle()
    this.#isLate = true
  }

  async stop(): Promise<void> {
    this.#isLate = false
    this.#stop.abort()
    for (const arrive of this.#messages.splice(0)) arrive()
    await this.#running
  }

  /** Lets a request or an answer arrive, or up to three events of a collection. */
  arrive(at: number): void {
    const waiting = [...this.#events].filter(([, events]) => events.length > 0)
    const chosen = at % Math.max(1, waiting.length + this.#messages.length)
    const events = waiting[chosen]?.[1]
    if (events === undefined) this.#messages.splice(chosen - waiting.length, 1)[0]?.()
    else for (const deliver of events.splice(0, 1 + (at % 3))) deliver()
  }

  /** The next answer that arrives is lost: the write was made, and its controller does not learn it. */
  loseAnswer(): void {
    this.#losesNext = true
  }

  /** What happens to one of the Pods that `isMeant` is true for. */
  act(at: number, event: PodEvent, isMeant: (pod: JsonObject) => boolean = () => true): void {
    const pods = this.#nodes.pods().filter(isMeant)
    const pod = pods[at % Math.max(1, pods.length)]
    if (pod !== undefined) this.#nodes.act(pod, event, this.clock.now())
  }

  /** A user changes parts of the spec of `shop/NAME`. */
  edit(collection: CollectionName, name: string, spec: JsonObject): void {
    const known = this.cluster.get(collection, `shop/${name}`)
    if (known === undefined) return
    const generation = Number(valueAt(known, 'metadata', 'generation')) + 1
    this.cluster.put(
      collection,
      mergePatch(known, { metadata: { generation }, spec }) as JsonObject,
    )
  }

  /** Everything arrives, nodes run all Pods, and those of Jobs succeed, until nothing changes any more. */
  async settle(): Promise<void> {
    this.#isLate = false
    this.#losesNext = false
    for (let quiet = 0, rounds = 0; quiet < 3; rounds++) {
      if (rounds > 60) {
        throw new Error(`it does not come to rest: ${this.cluster.log.slice(-12).join(', ')}`)
      }
      const before = this.#versions()
      for (const events of this.#events.values()) for (const one of events.splice(0)) one()
      for (const arrive of this.#messages.splice(0)) arrive()
      await this.clock.advance(0)
      this.#nodes.serve(this.clock.now())
      for (const pod of this.#nodes.pods().filter(isOfJob)) {
        this.#nodes.act(pod, 'succeed', this.clock.now())
      }
      await this.clock.advance(TEN_MINUTES)
      quiet = isDeepEqual(before, this.#versions()) ? quiet + 1 : 0
    }
  }

  /** What must not be once the world has settled: differences of the caches, Pods without an owner, faults of programs. */
  faults(): readonly string[] {
    const faults = this.#observer.records.filter((one) => one.includes('NP_CONTROLLERS_BUG'))
    for (const collection of COMPARED) {
      const stored = this.cluster.all(collection).map((one) => identityOf(readMeta(one)))
      const cached = [...this.#view[collection].values()].map(({ meta }) => identityOf(meta))
      for (const one of cached) if (!stored.includes(one)) faults.push(`only in the cache: ${one}`)
      for (const one of stored) if (!cached.includes(one)) faults.push(`not in the cache: ${one}`)
    }
    const uids = new Set(
      COMPARED.flatMap((one) => this.cluster.all(one).map((object) => readMeta(object).uid)),
    )
    for (const object of [...this.cluster.all('pods'), ...this.cluster.all('replicasets')]) {
      const owners = arrayAt(object, 'metadata', 'ownerReferences')
      const isOwned = owners.some((owner) => uids.has(stringAt(owner, 'uid')))
      if (!isOwned) faults.push(`without an owner: ${readMeta(object).key}`)
    }
    return faults
  }

  #versions(): unknown {
    return COMPARED.map((one) => this.cluster.all(one).map((object) => readMeta(object).version))
  }

  #writer(): ObjectWriter {
    const { writer } = this.cluster
    const late = async <T>(request: () => Promise<ApiResult<T>>): Promise<ApiResult<T>> => {
      await this.#onTheWay()
      const answer = await request()
      await this.#onTheWay()
      if (!this.#losesNext) return answer
      this.#losesNext = false
      return { ok: false, failure: localFailure('NP_CLIENT_UNREACHABLE', 'Unreachable', 'lost') }
    }
    return {
      // No decision depends on an Event.
      write: (write) =>
        write.verb === 'record' ? writer.write(write) : late(() => writer.write(write)),
      read: (...of) => late(() => writer.read(...of)),
    }
  }

  async #onTheWay(): Promise<void> {
    if (!this.#isLate) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#messages.push(resolve)
    await promise
  }

  #follower(): ObjectFollower {
    const { follower } = this.cluster
    const deliver = (collection: CollectionName, event: () => void): void => {
      if (this.#isLate) this.#events.getOrInsertComputed(collection, () => []).push(event)
      else event()
    }
    return {
      isConnected: () => true,
      follow: (collection, handlers, signal) =>
        follower.follow(
          collection,
          {
            changed: (changes) => deliver(collection, () => handlers.changed(changes)),
            listed: (version) => deliver(collection, () => handlers.listed(version)),
          },
          signal,
        ),
    }
  }
}

/** Whether a Pod is of the Job of these histories. */
export function isOfJob(pod: JsonObject): boolean {
  return stringAt(pod, 'metadata', 'labels', 'app') === 'sum'
}

function identityOf({ key, uid, version }: ReturnType<typeof readMeta>): string {
  return `${key} ${uid} ${version}`
}
