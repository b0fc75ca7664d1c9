import type { ApiClient } from '../../client/http/api-client.ts'
import type { ApiFailure } from '../../client/http/failure.ts'
import type { Change } from '../../client/reflector/object-tracker.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import type { PodTarget } from '../../streams/node-streams.ts'
import type { NodeTools } from './node-tools.ts'
import { PodWorker } from './pod-worker.ts'

export interface PodFleetOptions {
  readonly client: Pick<ApiClient, 'create' | 'patch' | 'remove'>
  readonly tools: NodeTools
  readonly nodeName: string
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
  #isClosing = false

  constructor(options: PodFleetOptions) {
    this.#options = options
  }

  changed(changes: readonly Change<JsonObject>[]): void {
    for (const { key, value } of changes) {
      if (stringAt(value, 'spec', 'nodeName') === this.#options.nodeName && value !== undefined) {
        this.#present(key, value)
      } else this.#gone(key)
    }
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
    const known = this.#workers.get(key)
    if (known?.uid === stringAt(object, 'metadata', 'uid')) known.update(object)
    else {
      known?.gone()
      this.#workers.delete(key)
      if (!this.#isClosing) this.#begin(key, object)
    }
  }

  #begin(key: string, object: JsonObject): void {
    const { client, tools, onError, onRefused } = this.#options
    const refused = (failure: ApiFailure): void => onRefused(failure, key)
    const worker = new PodWorker({ client, tools, object, onRefused: refused })
    this.#workers.set(key, worker)
    const running = worker.ended.catch(onError).finally(() => {
      this.#running.delete(worker)
      if (this.#workers.get(key) === worker) this.#workers.delete(key)
    })
    this.#running.set(worker, running)
    worker.update(object)
  }

  #gone(key: string): void {
    this.#workers.get(key)?.gone()
    this.#workers.delete(key)
  }
}
