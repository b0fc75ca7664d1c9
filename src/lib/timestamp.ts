/** A time in milliseconds since the epoch as the API writes it: RFC 3339 in UTC, to the second. */
export function timestamp(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`
}
