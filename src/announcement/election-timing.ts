/** Durations of an election, in milliseconds. */
export interface ElectionTiming {
  /** How long other nodes wait after they first saw a renewal before they take the Lease over. */
  readonly leaseDuration: number
  /** How long a holder answers after the start of its last successful renewal. */
  readonly renewDeadline: number
  /** From the start of a renewal to the start of the next. */
  readonly renewInterval: number
  /** From the start of a write that failed to the next attempt. */
  readonly retryInterval: number
  /** A node takes a Lease that is free or lost so much later than the node before it in the order. */
  readonly rankDelay: number
  /** How long a node must be preferred to the holder before it requests the Lease. */
  readonly settleDelay: number
}

/** Another node takes over within a second after a node died. Each address costs four writes a second. */
export const FAST_TIMING: ElectionTiming = {
  leaseDuration: 800,
  renewDeadline: 600,
  renewInterval: 250,
  retryInterval: 100,
  rankDelay: 300,
  settleDelay: 5_000,
}

/** The durations that are chosen. `retryInterval` follows from them; `rankDelay` and `settleDelay` are always the same. */
export type ChosenTiming = Pick<ElectionTiming, 'leaseDuration' | 'renewDeadline' | 'renewInterval'>

/** The durations of an election. Throws RangeError as `checkTiming` does. */
export function electionTiming(chosen: ChosenTiming): ElectionTiming {
  const { leaseDuration, renewDeadline, renewInterval } = chosen
  const { rankDelay, settleDelay } = FAST_TIMING
  const retryInterval = renewDeadline / 6
  const timing = {
    leaseDuration,
    renewDeadline,
    renewInterval,
    retryInterval,
    rankDelay,
    settleDelay,
  }
  checkTiming(timing)
  return timing
}

/**
 * Throws RangeError for durations that do not guarantee what is promised: at most one holder answers, although the
 * speeds of clocks differ by ±10 % (so `renewDeadline` leaves a fifth of `leaseDuration`); and two renewals may fail
 * before a holder stops.
 */
export function checkTiming(timing: ElectionTiming): void {
  const { leaseDuration, renewDeadline, renewInterval, retryInterval } = timing
  if (Object.values(timing).some((value) => !(value > 0))) {
    throw new RangeError('every duration of an election must be more than 0')
  }
  if (renewDeadline > leaseDuration * 0.8) {
    throw new RangeError('renewDeadline must be at most 80 % of leaseDuration')
  }
  if (renewInterval + 2 * retryInterval > renewDeadline) {
    throw new RangeError('renewInterval and two of retryInterval must fit into renewDeadline')
  }
}
