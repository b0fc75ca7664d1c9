import type { Clock } from '../../lib/clock.ts'
import { type FlowRefusal, type Release, Seats } from './concurrency-limit.ts'
import type { Requester } from './requester.ts'

export const REQUEST_KINDS = ['readOnly', 'mutating'] as const

export type RequestKind = (typeof REQUEST_KINDS)[number]

export interface FlowOptions {
  readonly clock: Clock
  /** Requests at one time. */
  readonly inFlight: Readonly<Record<RequestKind, number>>
  readonly waitMs: number
}

/** Places of a queue for each request that is served. */
const QUEUED_PER_SEAT = 10

/** The system's part of all places. */
const SYSTEM_SHARE = 0.25

interface Lanes {
  readonly system: Seats
  readonly others: Seats
}

/**
 * Bounds how many requests are served at one time, reads and writes apart. The
 * system has places that nobody else can take, and takes none of the others', so
 * neither starves whatever the other does.
 */
export class RequestFlow {
  readonly #lanes: Readonly<Record<RequestKind, Lanes>>

  constructor(options: FlowOptions) {
    const { readOnly, mutating } = options.inFlight
    this.#lanes = { readOnly: lanesOf(options, readOnly), mutating: lanesOf(options, mutating) }
  }

  enter(
    kind: RequestKind,
    { client, isSystem }: Requester,
  ): Release | Promise<Release | FlowRefusal> {
    const { system, others } = this.#lanes[kind]
    return (isSystem ? system : others).take(client)
  }

  /** How many requests are served, and how many wait. */
  load(kind: RequestKind): { readonly taken: number; readonly waiting: number } {
    const { system, others } = this.#lanes[kind]
    return { taken: system.taken + others.taken, waiting: system.waiting + others.waiting }
  }
}

function lanesOf({ clock, waitMs }: FlowOptions, inFlight: number): Lanes {
  const share = Math.max(1, Math.floor(inFlight * SYSTEM_SHARE))
  const lane = (seats: number): Seats =>
    new Seats({ clock, seats, queued: seats * QUEUED_PER_SEAT, waitMs })
  return { system: lane(share), others: lane(Math.max(1, inFlight - share)) }
}
