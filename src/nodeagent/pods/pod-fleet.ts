import type { ApiClient } from '../../client/http/api-client.ts'
import type { ApiFailure, ApiResult } from '../../client/http/failure.ts'
import type { Change } from '../../client/reflector/object-tracker.ts'
import { type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import type { PodTarget } from '../../streams/node-streams.ts'
import type { NodeTools } from './node-tools.ts'
import { podPath } from './pod-access.ts'
import { PodWorker } from './pod-worker.ts'

export interface PodFleetOptions {
  readonly client: Pick<ApiClient, 'create' | 'patch' | 'remove'>
  /** The client that binds Pods, for which a node agent has no permission. */
  readonly bindingClient: Pick<ApiClient, 'patch'>
  readonly tools: NodeTools
  readonly nodeName: string
  /** Whether Pods without a node are bound to this one, which has these labels. */
  readonly binds: boolean
  readonly nodeLabels: Readonly<Record<string, string>>
  readonly maxPods: number
  readonly onError: (error: unknown) => void
  readonly onRefused: (failure: ApiFailure, pod: string) => void
}

/** All Pods of the node: one worker for each, by key and uid. */
export class PodFleet {
  readonly #options: PodFleetOptions
  /** By `namespace/name`: the worker of the Pod that has this name in the API. */
  readonly #workers = new Map<string, PodWorker>()
  /** All that have not ended, including those that are gone from the API. */
  readonly #running = new Map<PodWorker, Promise<void>>()
  /** Workers whose containers have ended for good; they do not count against `maxPods`. */
  readonly #over = new Set<PodWorker>()
  /** Pods that wait because `maxPods` is reached, by key. */
  readonly #waiting = new Map<string, JsonObject>()
  /** The latest attempt to bind each Pod, by key, until the watch shows the Pod as bound. */
  readonly #binding = new Map<string, symbol>()
  /** Cancels the next attempt for Pods whose latest one failed, by key. */
  readonly #retries = new Map<string, () => void>()
  /** Keys of the Pods whose failing binding has been reported. */
  readonly #reported = new Set<string>()
  #isClosing = false

  constructor(options: PodFleetOptions) {
    this.#options = options
  }

  changed(changes: readonly Change<JsonObject>[]): void {
    for (const { key, value } of changes) {
      if (value === undefined) {
        this.#gone(key)
        this.#reported.delete(key)
      } else if (stringAt(value, 'spec', 'nodeName') === this.#options.nodeName) {
        this.#present(key, value)
      } else {
        this.#gone(key)
        this.#offer(key, value)
      }
    }
    this.#fill()
  }

  /** The Pod with this name and uid, if it is on this node. */
  find({ namespace, name, uid }: PodTarget): PodWorker | undefined {
    const worker = this.#workers.get(`${namespace}/${name}`)
    return worker?.uid === uid ? worker : undefined
  }

  /** To be called when the server has accepted a heartbeat of the node. */
  heard(): void {
    for (const worker of this.#workers.values()) worker.heard()
  }

  /** Ends every Pod; resolves when all have ended. No new Pod is started. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true
    for (const worker of this.#running.keys()) worker.stop(graceMs)
    while (this.#running.size > 0) await Promise.all(this.#running.values())
  }

  #present(key: string, object: JsonObject): void {
    this.#forget(key)
    this.#reported.delete(key)
    const known = this.#workers.get(key)
    if (known?.uid === stringAt(object, 'metadata', 'uid')) known.update(object)
    else {
      known?.gone()
      this.#workers.delete(key)
      if (!this.#isClosing) this.#begin(key, object)
    }
    const worker = this.#workers.get(key)
    if (worker === undefined || !isOver(object)) return
    this.#over.add(worker)
    this.#fill()
  }

  #begin(key: string, object: JsonObject): void {
    const { client, tools, onError, onRefused } = this.#options
    const refused = (failure: ApiFailure): void => onRefused(failure, key)
    const worker = new PodWorker({ client, tools, object, onRefused: refused })
    this.#workers.set(key, worker)
    const running = worker.ended.catch(onError).finally(() => {
      this.#running.delete(worker)
      this.#over.delete(worker)
      if (this.#workers.get(key) === worker) this.#workers.delete(key)
      this.#fill()
    })
    this.#running.set(worker, running)
    worker.update(object)
  }

  /** Cancels all attempts to bind a Pod, because they are for an earlier object. */
  #forget(key: string): void {
    this.#waiting.delete(key)
    this.#binding.delete(key)
    this.#retries.get(key)?.()
    this.#retries.delete(key)
  }

  #gone(key: string): void {
    this.#forget(key)
    this.#workers.get(key)?.gone()
    this.#workers.delete(key)
  }

  #offer(key: string, object: JsonObject): void {
    const { binds, nodeLabels } = this.#options
    if (!binds || !isToBind(object, nodeLabels)) return
    this.#waiting.set(key, object)
    this.#fill()
  }

  /** Binds waiting Pods in their order of arrival while fewer than `maxPods` run. */
  #fill(): void {
    for (const [key, object] of this.#waiting) {
      const taken = this.#running.size - this.#over.size + this.#binding.size
      if (this.#isClosing || taken >= this.#options.maxPods) return
      const attempt = Symbol(key)
      this.#waiting.delete(key)
      this.#binding.set(key, attempt)
      void this.#bind(key, object, attempt)
    }
  }

  /** Binds a Pod. If it changed meanwhile, the watch delivers it again; after other failures the binding is retried. */
  async #bind(key: string, object: JsonObject, attempt: symbol): Promise<void> {
    const { bindingClient, tools, nodeName, onRefused } = this.#options
    const bound = await bind(bindingClient, object, nodeName)
    if (bound.ok || this.#binding.get(key) !== attempt) return
    this.#binding.delete(key)
    this.#fill()
    const { code } = bound.failure
    if (code === 404 || code === 409) return void this.#reported.delete(key)
    if (!this.#reported.has(key)) onRefused(bound.failure, key)
    this.#reported.add(key)
    const retry = tools.clock.after(RETRY_MS, () => this.#offer(key, object))
    this.#retries.set(key, retry)
  }
}

const RETRY_MS = 5_000

function isOver(pod: JsonObject): boolean {
  const phase = stringAt(pod, 'status', 'phase')
  return phase === 'Succeeded' || phase === 'Failed'
}

/**
 * Whether a Pod waits for a node, and this one suits it. Resources are not considered, because there is only
 * this node.
 */
export function isToBind(pod: JsonObject, labels: Readonly<Record<string, string>>): boolean {
  const metadata = objectAt(pod, 'metadata')
  const spec = objectAt(pod, 'spec')
  const scheduler = stringAt(spec, 'schedulerName')
  if (stringAt(spec, 'nodeName') !== '' || stringAt(metadata, 'deletionTimestamp') !== '')
    return false
  if (scheduler !== '' && scheduler !== 'default-scheduler') return false
  const wanted = Object.entries(objectAt(spec, 'nodeSelector'))
  return wanted.every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value)
}

/** Binds a Pod to the node, as it was seen. */
export function bind(
  client: Pick<ApiClient, 'patch'>,
  pod: JsonObject,
  nodeName: string,
): Promise<ApiResult<unknown>> {
  const read = (key: string): string => stringAt(pod, 'metadata', key)
  const path = podPath({ namespace: read('namespace'), name: read('name') })
  const metadata = { uid: read('uid'), resourceVersion: read('resourceVersion') }
  return client.patch(
    path,
    { metadata, spec: { nodeName } },
    { type: 'application/merge-patch+json' },
  )
}
