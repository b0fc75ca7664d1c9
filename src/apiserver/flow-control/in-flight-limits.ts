import type { Clock } from '../../lib/clock.ts'
import { ConcurrencyLimit, type RejectionReason, type Release } from './concurrency-limit.ts'
import type { Requester } from './requester.ts'

export const REQUEST_KINDS = ['readOnly', 'mutating'] as const
export type RequestKind = (typeof REQUEST_KINDS)[number]

export interface InFlightOptions {
  readonly clock: Clock
  /** Requests at one time. */
  readonly inFlight: Readonly<Record<RequestKind, number>>
  /** Milliseconds that a request may wait for a slot. */
  readonly waitMs: number
}

/** Requests that may wait for each concurrency slot. */
const QUEUED_PER_SLOT = 10

/** The part of the slots that only components of the cluster take. */
const SYSTEM_SHARE = 0.25

interface Levels {
  readonly system: ConcurrencyLimit
  readonly workload: ConcurrencyLimit
}

/**
 * Bounds how many requests run at one time, reads and writes apart. Components of the
 * cluster have slots of their own and take none of the other clients', so neither
 * starves whatever the other does.
 */
export class InFlightLimits {
  readonly #levels: Readonly<Record<RequestKind, Levels>>

  constructor(options: InFlightOptions) {
    const { readOnly, mutating } = options.inFlight
    this.#levels = { readOnly: levelsOf(options, readOnly), mutating: levelsOf(options, mutating) }
  }

  acquire(
    kind: RequestKind,
    { client, isSystem }: Requester,
  ): Release | Promise<Release | RejectionReason> {
    const { system, workload } = this.#levels[kind]
    return (isSystem ? system : workload).acquire(client)
  }

  /** How many requests run, and how many wait. */
  load(kind: RequestKind): { readonly running: number; readonly waiting: number } {
    const { system, workload } = this.#levels[kind]
    return {
      running: system.running + workload.running,
      waiting: system.waiting + workload.waiting,
    }
  }
}

function levelsOf({ clock, waitMs }: InFlightOptions, inFlight: number): Levels {
  const share = Math.max(1, Math.floor(inFlight * SYSTEM_SHARE))
  const limit = (slots: number): ConcurrencyLimit =>
    new ConcurrencyLimit({ clock, slots, queueLength: slots * QUEUED_PER_SLOT, waitMs })
  return { system: limit(share), workload: limit(Math.max(1, inFlight - share)) }
}
