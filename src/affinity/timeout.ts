/**
 * Whether a client still sticks: less than `seconds` lie between its last
 * connection and `now` (ms). At the time-out itself it is balanced anew. A
 * connection of the future counts likewise: threads read the clock one after
 * the other, and a clock that is set back must bind nobody for longer.
 */
export function isFresh(last: number, now: number, seconds: number): boolean {
  return Math.abs(now - last) < seconds * 1000
}
