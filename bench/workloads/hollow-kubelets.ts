import { setTimeout as delay } from 'node:timers/promises'
import type { ApiClient } from '../../src/client/http/api-client.ts'

const HEARTBEAT_MS = 10_000
/** Requests at a time. */
const REQUESTS = 32
const DAY_MS = 86_400_000
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'

interface Pod {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly resourceVersion: string
    readonly deletionTimestamp?: string
  }
  readonly spec: {
    readonly nodeName?: string
    readonly containers: readonly { readonly image: string }[]
  }
  readonly status: {
    readonly phase: string
    readonly startTime?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

/** Resolves when the cluster is as a step wants it. */
interface Wait {
  readonly isDone: () => boolean
  readonly resolve: () => void
}

/**
 * Nodes without machines: a Pod that is bound is reported ready at once, one that is being deleted is gone at once. Each
 * node renews its Lease.
 */
export class HollowKubelets implements AsyncDisposable {
  readonly #client: ApiClient
  readonly #stop = new AbortController()
  readonly #ready = new Map<string, string>()
  readonly #all = new Set<string>()
  readonly #busy = new Set<string>()
  readonly #queue: (() => Promise<void>)[] = []
  readonly #tasks: Promise<void>[] = []
  #running = 0
  #serial = 0
  #waits: Wait[] = []

  private constructor(client: ApiClient) {
    this.#client = client
  }

  /** Registers the nodes; they follow the Pods from then on. */
  static async start(client: ApiClient, nodes: number): Promise<HollowKubelets> {
    const kubelets = new HollowKubelets(client)
    const names = Array.from({ length: nodes }, (_, serial) => `node-${serial}`)
    for (const name of names) await kubelets.#register(name)
    kubelets.#tasks.push(kubelets.#heartbeat(names))
    const follows = Promise.withResolvers<void>()
    kubelets.#tasks.push(kubelets.#follow(() => follows.resolve()))
    await follows.promise
    return kubelets
  }

  /** Resolves once exactly `count` Pods exist, and all are ready with an image. */
  async untilReady(image: string, count: number): Promise<void> {
    await this.#until(
      () =>
        this.#all.size === count &&
        this.#ready.size === count &&
        [...this.#ready.values()].every((one) => one === image),
    )
  }

  async #until(isDone: () => boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waits.push({ isDone, resolve })
    await promise
  }

  async #register(name: string): Promise<void> {
    const labels = {
      'kubernetes.io/hostname': name,
      'topology.kubernetes.io/zone': `zone-${this.#serial++ % 3}`,
    }
    expectOk(await this.#client.create('/api/v1/nodes', { metadata: { name, labels } }))
    const resources = { cpu: '64', memory: '256Gi', pods: '250' }
    const now = new Date().toISOString()
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: 'KubeletReady',
      lastHeartbeatTime: now,
      lastTransitionTime: now,
    }
    const status = { capacity: resources, allocatable: resources, conditions: [ready] }
    await this.#patch(`/api/v1/nodes/${name}/status`, { status })
    const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime: microTime() }
    const lease = { metadata: { name, namespace: 'kube-node-lease' }, spec }
    expectOk(await this.#client.create(LEASES, lease))
  }

  async #heartbeat(names: readonly string[]): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      for (const name of names) {
        this.#do(() => this.#patch(`${LEASES}/${name}`, { spec: { renewTime: microTime() } }))
      }
      await delay(HEARTBEAT_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  async #follow(onFollowing: () => void): Promise<void> {
    const { signal } = this.#stop
    const listed = expectOk(await this.#client.get('/api/v1/pods')) as {
      readonly metadata: { readonly resourceVersion: string }
    }
    let { resourceVersion } = listed.metadata
    // A server ends each watch after some minutes.
    while (!signal.aborted) {
      const query = { watch: 'true', resourceVersion }
      const options = { query, signal, lifetimeMs: DAY_MS }
      const watch = expectOk(await this.#client.watch('/api/v1/pods', options))
      onFollowing()
      for await (const lines of watch.batches) {
        const events = lines.map((line) => JSON.parse(line ?? '') as WatchEvent)
        for (const event of events) this.#see(event)
        resourceVersion = events.at(-1)?.object.metadata.resourceVersion ?? resourceVersion
        this.#settle()
      }
    }
  }

  #see({ type, object }: WatchEvent): void {
    const { name, namespace, deletionTimestamp } = object.metadata
    if (type === 'DELETED') {
      this.#all.delete(name)
      this.#ready.delete(name)
      this.#busy.delete(name)
      return
    }
    this.#all.add(name)
    if (object.status.conditions?.some((one) => one.type === 'Ready' && one.status === 'True')) {
      this.#ready.set(name, object.spec.containers[0]?.image ?? '')
    }
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`
    if (deletionTimestamp !== undefined) {
      this.#once(`end ${name}`, async () => {
        await this.#client.remove(path, { gracePeriodSeconds: 0 })
      })
    } else if (object.spec.nodeName !== undefined && object.status.startTime === undefined) {
      this.#once(`start ${name}`, () => this.#patch(`${path}/status`, { status: this.#started() }))
    }
  }

  #started(): object {
    const serial = this.#serial++
    const podIP = `10.${128 + ((serial >> 16) & 63)}.${(serial >> 8) & 255}.${serial & 255}`
    const now = new Date().toISOString()
    const conditions = ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: now,
    }))
    return { phase: 'Running', startTime: now, podIP, podIPs: [{ ip: podIP }], conditions }
  }

  async #patch(path: string, body: object): Promise<void> {
    const type = 'application/merge-patch+json'
    const result = await this.#client.patch(path, body, { type })
    // A Pod that has been deleted meanwhile.
    if (!result.ok && result.failure.code === 404) return
    expectOk(result)
  }

  #once(what: string, request: () => Promise<void>): void {
    if (this.#busy.has(what)) return
    this.#busy.add(what)
    this.#do(async () => {
      await request()
      this.#busy.delete(what)
    })
  }

  #do(request: () => Promise<void>): void {
    this.#queue.push(request)
    while (this.#running < REQUESTS) {
      const next = this.#queue.shift()
      if (next === undefined) return
      this.#running++
      void next().then(() => {
        this.#running--
        const waiting = this.#queue.shift()
        if (waiting !== undefined) this.#do(waiting)
      })
    }
  }

  #settle(): void {
    for (const { isDone, resolve } of this.#waits) if (isDone()) resolve()
    this.#waits = this.#waits.filter(({ isDone }) => !isDone())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#tasks)
  }
}

interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: Pod
}

function microTime(): string {
  return `${new Date().toISOString().slice(0, -1)}000Z`
}

/** The value of an answer. Throws the failure. */
export function expectOk<T>(
  result:
    | { readonly ok: true; readonly value: T }
    | { readonly ok: false; readonly failure: unknown },
): T {
  if (!result.ok) throw new Error(JSON.stringify(result.failure))
  return result.value
}
