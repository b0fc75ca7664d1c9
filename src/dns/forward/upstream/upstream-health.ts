import type { Clock } from '../../../lib/clock.ts'
import { type Upstream, upstreamName } from './upstream.ts'

const FIRST_PAUSE_MS = 1000
const MAX_PAUSE_MS = 30_000

/** An upstream that does not answer. */
export interface AwayUpstream {
  readonly upstream: Upstream
  /** Its first question without an answer, in milliseconds since the epoch. */
  readonly since: number
}

/** An upstream does not answer any more, or answers again. */
export interface UpstreamChange extends AwayUpstream {
  readonly isAway: boolean
}

/** After this many pauses in a row the cause is not a lost packet. */
const AWAY_PAUSES = 2

interface HealthState {
  /** The number of pauses without an answer in between. */
  pauses: number
  /** When the first of these pauses began. */
  since: number
  /** When the current pause began, and when it ends, in milliseconds since the epoch. */
  pausedAt: number
  pausedUntil: number
}

/**
 * Which upstreams answer, as observed with questions: there are no probes. An upstream that does not answer is
 * paused for a second, then twice as long each time, up to 30 s. After a pause one question is sent to it,
 * while others still avoid it; a reply ends the pauses.
 */
export class UpstreamHealth {
  readonly #states: ReadonlyMap<string, HealthState>
  readonly #upstreams: readonly Upstream[]
  readonly #clock: Pick<Clock, 'now'>
  readonly #onChange: (change: UpstreamChange) => void

  constructor(
    upstreams: readonly Upstream[],
    clock: Pick<Clock, 'now'>,
    onChange: (change: UpstreamChange) => void = () => undefined,
  ) {
    this.#upstreams = upstreams
    this.#onChange = onChange
    this.#clock = clock
    this.#states = new Map(
      upstreams.map((each) => [
        upstreamName(each),
        { pauses: 0, since: 0, pausedAt: 0, pausedUntil: 0 },
      ]),
    )
  }

  /**
   * All upstreams in the order in which to query them: those that answer, in their configured order, then those
   * that are paused, by the end of their pause.
   */
  order(): readonly Upstream[] {
    const now = this.#clock.now()
    const due = (upstream: Upstream): number => {
      const { pausedUntil } = this.#stateOf(upstream)
      return pausedUntil <= now ? 0 : pausedUntil
    }
    const order = [...this.#upstreams].sort((a, b) => due(a) - due(b))
    const state = order[0] && this.#stateOf(order[0])
    if (state !== undefined && state.pauses > 0) state.pausedUntil = now + pauseMs(state.pauses)
    return order
  }

  /** Whether no upstream has replied since it was last paused. A pause may have ended without a question since. */
  get isAway(): boolean {
    return [...this.#states.values()].every(({ pauses }) => pauses > 0)
  }

  /** The upstreams that have not answered for two pauses or more. */
  get away(): readonly AwayUpstream[] {
    return this.#upstreams.flatMap((upstream) => {
      const { pauses, since } = this.#stateOf(upstream)
      return pauses < AWAY_PAUSES ? [] : [{ upstream, since }]
    })
  }

  /** Records that the upstream replied, with whatever result. */
  answered(upstream: Upstream): void {
    const state = this.#stateOf(upstream)
    const { pauses, since } = state
    state.pauses = 0
    state.pausedUntil = 0
    if (pauses >= AWAY_PAUSES) this.#onChange({ upstream, since, isAway: false })
  }

  /**
   * Records that the upstream did not reply to a message sent at `sentAt`. Only the first failure of a burst
   * counts.
   */
  failed(upstream: Upstream, sentAt: number): void {
    const state = this.#stateOf(upstream)
    if (state.pauses > 0 && sentAt <= state.pausedAt) return
    state.pauses++
    state.pausedAt = this.#clock.now()
    state.pausedUntil = state.pausedAt + pauseMs(state.pauses)
    if (state.pauses === 1) state.since = state.pausedAt
    if (state.pauses === AWAY_PAUSES) {
      this.#onChange({ upstream, since: state.since, isAway: true })
    }
  }

  #stateOf(upstream: Upstream): HealthState {
    const state = this.#states.get(upstreamName(upstream))
    if (state === undefined) throw new TypeError(`no such upstream: ${upstreamName(upstream)}`)
    return state
  }
}

function pauseMs(pauses: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** (pauses - 1), MAX_PAUSE_MS)
}
