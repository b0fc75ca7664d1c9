import type { ApiClient } from '../../client/api-client.ts'
import type { ApiFailure } from '../../client/failure.ts'
import { isRewound } from '../../client/resource-version.ts'
import type { Clock } from '../../lib/clock.ts'
import { isDeepEqual } from '../../lib/equal.ts'
import { arrayAt, isJsonObject, type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { sleep } from '../../lib/sleep.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import { podPath } from './pod-path.ts'

export interface StatusWriterOptions {
  readonly client: Pick<ApiClient, 'patch'>
  readonly clock: Clock
  readonly pod: PodPlan
  /** The object as it is now. */
  readonly object: JsonObject
  readonly onRefused: (failure: ApiFailure) => void
}

const PAUSES_MS = [200, 1_000, 5_000, 15_000]

/**
 * Writes the status of one Pod: the latest one, when it differs from what the
 * server has, again and again until it is there or the Pod is gone.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions
  readonly #signal: AbortSignal
  #known: JsonObject
  #version: string
  #wanted: JsonObject
  #writing: Promise<void> | undefined

  constructor(options: StatusWriterOptions, signal: AbortSignal) {
    this.#options = options
    this.#signal = signal
    this.#known = objectAt(options.object, 'status')
    this.#version = stringAt(options.object, 'metadata', 'resourceVersion')
    this.#wanted = this.#known
  }

  /** The status as the server has it, as far as is known. */
  get known(): JsonObject {
    return this.#known
  }

  /** The object as the watch tells of it: somebody else may have changed its status. */
  seen(object: JsonObject): void {
    const version = stringAt(object, 'metadata', 'resourceVersion')
    if (this.#writing !== undefined || isRewound(this.#version, version)) return
    this.#version = version
    this.#known = objectAt(object, 'status')
  }

  write(status: JsonObject): void {
    this.#wanted = status
    if (this.#writing !== undefined || differences(this.#known, status) === undefined) return
    this.#writing = this.#catchUp().finally(() => {
      this.#writing = undefined
    })
  }

  /** Resolves when the last status is written, or cannot be. */
  async settled(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
  }

  /** Fields that the server wrote otherwise than was asked are not written again at once. */
  #written(answer: unknown, status: JsonObject): void {
    if (!isJsonObject(answer)) return
    const known = objectAt(answer, 'status')
    this.#version = stringAt(answer, 'metadata', 'resourceVersion')
    this.#known = { ...known, ...plain(status), conditions: arrayAt(known, 'conditions') }
  }

  async #catchUp(): Promise<void> {
    const { client, clock, pod, onRefused } = this.#options
    for (let failures = 0; !this.#signal.aborted; ) {
      const status = differences(this.#known, this.#wanted)
      if (status === undefined) return
      const body = { metadata: { uid: pod.uid }, status }
      const type = 'application/strategic-merge-patch+json'
      const path = `${podPath(pod)}/status`
      const written = await client.patch(path, body, { type, signal: this.#signal })
      if (written.ok) {
        this.#written(written.value, status)
        failures = 0
        continue
      }
      const { code } = written.failure
      if (code === 404 || code === 409) return
      if (failures === 0 && !this.#signal.aborted) onRefused(written.failure)
      await sleep(clock, PAUSES_MS[Math.min(failures++, PAUSES_MS.length - 1)] ?? 0, this.#signal)
    }
  }
}

/** Lists whose entries the server would merge: the old addresses are to go. */
const REPLACED: ReadonlySet<string> = new Set(['podIPs', 'hostIPs'])

/** The fields of `wanted` that `known` has not; undefined: none. */
export function differences(known: JsonObject, wanted: JsonObject): JsonObject | undefined {
  const changed = Object.entries(wanted).filter(([key, value]) => {
    if (key !== 'conditions') return !isDeepEqual(known[key], value)
    const conditions = arrayAt(known, 'conditions')
    return arrayAt(wanted, 'conditions').some((one) => !conditions.some((old) => covers(old, one)))
  })
  if (changed.length === 0) return undefined
  return Object.fromEntries(
    changed.map(([key, value]) => {
      const isReplaced = REPLACED.has(key) && Array.isArray(value)
      return [key, isReplaced ? [...value, { $patch: 'replace' }] : value]
    }),
  )
}

/** What was asked for, without directives. */
function plain(status: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(status).map(([key, value]) => {
      return [key, REPLACED.has(key) && Array.isArray(value) ? value.slice(0, -1) : value]
    }),
  )
}

/** A condition may carry more than we write, such as the time of a probe. */
function covers(old: unknown, wanted: unknown): boolean {
  if (!isJsonObject(old) || !isJsonObject(wanted)) return false
  return Object.entries(wanted).every(([key, value]) => isDeepEqual(old[key], value))
}
