/** The greatest port. */
export const MAX_PORT = 65_535

/** Ports from the first to the last, both included. */
export interface PortRange {
  readonly first: number
  readonly last: number
}

/** `first-last`, `first+more`, or one port; undefined for anything but ports from 1 to 65535. */
export function parsePortRange(text: string): PortRange | undefined {
  const match = /^(\d{1,5})(?:([-+])(\d{1,5}))?$/.exec(text)
  const first = Number(match?.[1])
  const second = Number(match?.[3] ?? first)
  const last = match?.[2] === '+' ? first + second : second
  return first >= 1 && first <= last && last <= MAX_PORT ? { first, last } : undefined
}

/** As `parsePortRange` reads it. */
export function formatPortRange({ first, last }: PortRange): string {
  return `${first}-${last}`
}
