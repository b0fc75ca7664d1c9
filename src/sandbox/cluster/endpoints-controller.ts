import type { ApiClient } from '../../client/api-client.ts'
import { endpointSlice, readSelecting, type SelectingService } from './endpoints.ts'
import { follow } from './follow.ts'
import type { PodState } from './pod-state.ts'
import type { Writer } from './writer.ts'

export interface EndpointsControllerOptions {
  readonly client: ApiClient
  readonly writer: Writer
  readonly pods: () => readonly PodState[]
  readonly onError: (error: unknown) => void
}

/**
 * Keeps an EndpointSlice for every Service with a selector, as a cluster's own
 * controller does, so that scaling by hand works with nothing but a PATCH.
 */
export class EndpointsController {
  readonly #options: EndpointsControllerOptions
  readonly #services = new Map<string, SelectingService>()
  /** What was written last, per slice. */
  readonly #slices = new Map<string, string>()
  readonly #waiting = new Set<() => void>()
  #seen = 0
  #work: Promise<void> = Promise.resolve()

  constructor(options: EndpointsControllerOptions) {
    this.#options = options
  }

  /** Follows the Services until `signal` is aborted. */
  run(signal: AbortSignal): Promise<void> {
    const { client } = this.#options
    const options = { client, path: '/api/v1/services', decode: readSelecting }
    return follow(
      { ...options, onChange: (key, value) => this.#serviceChanged(key, value) },
      signal,
    )
  }

  podsChanged(): void {
    for (const service of this.#services.values()) this.#enqueue(service)
  }

  /** Resolves once everything that follows from a Service's revision, and from the pods, is written. */
  async settled(version: number): Promise<void> {
    while (this.#seen < version) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    }
    await this.#work
  }

  #serviceChanged(key: string, service: SelectingService | undefined): void {
    if (service === undefined) {
      this.#services.delete(key)
      return
    }
    this.#services.set(key, service)
    this.#enqueue(service)
    this.#seen = Math.max(this.#seen, service.version)
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }

  #enqueue(service: SelectingService): void {
    if (service.selector === undefined) return
    this.#work = this.#work
      .then(() => this.#write(service))
      .catch((error: unknown) => this.#options.onError(error))
  }

  async #write(service: SelectingService): Promise<void> {
    const { writer, pods } = this.#options
    const slice = endpointSlice(service, pods())
    const [name, text] = [`${service.name}-pods`, JSON.stringify(slice)]
    const before = this.#slices.get(name)
    if (before === text) return
    if (before === undefined) await writer.create(slice)
    else await writer.patch('EndpointSlice', name, slice)
    this.#slices.set(name, text)
  }
}
