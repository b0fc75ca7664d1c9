/** Whole seconds in UTC, as the API writes times. */
export function timestamp(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`
}
