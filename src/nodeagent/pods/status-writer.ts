import type { ApiClient } from '../../client/http/api-client.ts'
import type { ApiFailure, ApiResult } from '../../client/http/failure.ts'
import { isRewound } from '../../client/reflector/reflector-state.ts'
import { type Clock, sleep } from '../../lib/clock.ts'
import { isDeepEqual } from '../../lib/equal.ts'
import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  stringAt,
} from '../../lib/json.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import { podPath } from './pod-access.ts'

export interface StatusWriterOptions {
  readonly client: Pick<ApiClient, 'patch'>
  readonly clock: Clock
  readonly pod: PodPlan
  /** The object as it is now. */
  readonly object: JsonObject
  readonly onRefused: (failure: ApiFailure) => void
  /** Called when the object changed during a write, so that the wanted status may be different now. */
  readonly onMissedChange: () => void
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
  #isWriting = false
  /** The newest object that was seen during a write. */
  #missed: JsonObject | undefined

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

  /** Takes an object from the watch; another client may have changed its status. */
  seen(object: JsonObject): void {
    if (this.#isWriting) this.#missed = object
    else this.#takeIn(object)
  }

  write(status: JsonObject): void {
    this.#wanted = status
    if (this.#writing !== undefined || this.#signal.aborted) return
    if (differences(this.#known, status) !== undefined) this.#writing = this.#catchUp()
  }

  /** Resolves when the last status is written, or cannot be. */
  async settled(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
  }

  /** Fields that the server stored with other values are not written again at once. */
  #written(answer: unknown, status: JsonObject): void {
    if (!isJsonObject(answer)) return
    const known = objectAt(answer, 'status')
    this.#version = stringAt(answer, 'metadata', 'resourceVersion')
    this.#known = { ...known, ...plain(status), conditions: arrayAt(known, 'conditions') }
  }

  #takeIn(object: JsonObject): void {
    const version = stringAt(object, 'metadata', 'resourceVersion')
    if (isRewound(this.#version, version)) return
    this.#version = version
    this.#known = objectAt(object, 'status')
  }

  /**
   * Writes until the wanted status is stored. Its last check of the wanted status and the end of writing are
   * one synchronous step, so no change is missed.
   */
  async #catchUp(): Promise<void> {
    try {
      for (let failures = 0; !this.#signal.aborted; ) {
        const status = differences(this.#known, this.#wanted)
        if (status === undefined) return
        const written = await this.#send(status)
        failures = written.ok ? 0 : failures + 1
        if (written.ok) continue
        if (written.failure.code === 404 || written.failure.code === 409) return
        await this.#pause(written.failure, failures)
      }
    } finally {
      this.#writing = undefined
    }
  }

  async #pause(failure: ApiFailure, failures: number): Promise<void> {
    const { clock, onRefused } = this.#options
    if (failures === 1 && !this.#signal.aborted) onRefused(failure)
    const ms = PAUSES_MS[Math.min(failures, PAUSES_MS.length) - 1] ?? 0
    await sleep(clock, ms, this.#signal)
  }

  async #send(status: JsonObject): Promise<ApiResult<unknown>> {
    const { client, pod, onMissedChange } = this.#options
    const body = { metadata: { uid: pod.uid }, status }
    const type = 'application/strategic-merge-patch+json'
    this.#isWriting = true
    const path = `${podPath(pod)}/status`
    const written = await client.patch(path, body, { type, signal: this.#signal })
    this.#isWriting = false
    if (written.ok) this.#written(written.value, status)
    const missed = this.#missed
    this.#missed = undefined
    if (missed !== undefined) {
      this.#takeIn(missed)
      onMissedChange()
    }
    return written
  }
}

/** Lists that a patch must replace, because the server would otherwise merge them and keep old addresses. */
const REPLACED: ReadonlySet<string> = new Set(['podIPs', 'hostIPs'])

/** The fields of `wanted` that `known` has not; undefined: none. */
export function differences(known: JsonObject, wanted: JsonObject): JsonObject | undefined {
  const changed = Object.entries(wanted).filter(([key, value]) => {
    if (key !== 'conditions') return !isDeepEqual(known[key], value)
    const conditions = arrayAt(known, 'conditions')
    const isKnown = (one: Json): boolean => conditions.some((old) => covers(old, whole(one)))
    return !arrayAt(wanted, 'conditions').every(isKnown)
  })
  if (changed.length === 0) return undefined
  return Object.fromEntries(
    changed.map(([key, value]) => [key, Array.isArray(value) ? patchOf(key, value) : value]),
  )
}

function patchOf(key: string, list: readonly Json[]): Json[] {
  if (key === 'conditions') return list.map(whole)
  return REPLACED.has(key) ? [...list, { $patch: 'replace' }] : [...list]
}

/** The written values without the directives of the patch. */
function plain(status: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(status).map(([key, value]) => {
      return [key, REPLACED.has(key) && Array.isArray(value) ? value.slice(0, -1) : value]
    }),
  )
}

/** A condition with reason and message; null for an absent one, so that the patch removes it. */
function whole(condition: Json): Json {
  return isJsonObject(condition) ? { reason: null, message: null, ...condition } : condition
}

/** Whether a stored condition has all wanted fields; it may have more, such as the time of a probe. */
function covers(old: Json, wanted: Json): boolean {
  if (!isJsonObject(old) || !isJsonObject(wanted)) return false
  return Object.entries(wanted).every(([key, value]) => isDeepEqual(old[key] ?? null, value))
}
