import type { NetfilterSettings } from './settings.ts'

type MarkSettings = Pick<NetfilterSettings, 'masqueradeBit'>

function bit(settings: MarkSettings): string {
  return hex(1 << settings.masqueradeBit)
}

/** As iptables prints a mark. */
function hex(mark: number): string {
  return `0x${(mark >>> 0).toString(16)}`
}

/** Target: this packet is to be masqueraded on its way out. */
export function setMark(settings: MarkSettings): string {
  return `-j MARK --set-xmark ${bit(settings)}/${bit(settings)}`
}

export function isMarked(settings: MarkSettings): string {
  return `-m mark --mark ${bit(settings)}/${bit(settings)} `
}

export function isNotMarked(settings: MarkSettings): string {
  return `-m mark ! --mark ${bit(settings)}/${bit(settings)} `
}

/** Target: clears the mark, so that an encapsulated copy is not masqueraded again. */
export function clearMark(settings: MarkSettings): string {
  return `-j MARK --set-xmark ${bit(settings)}/0x0`
}

/**
 * The mark of packets that ipvs mode has taken, 1–2³¹: the bit below the masquerade bit, or
 * above it where there is none below. A packet to a virtual server carries it from mangle
 * PREROUTING on, so that a policy route delivers it locally. While one mode takes over
 * from the other, both modes' rules stand, and exactly one of them may handle a new
 * connection: the rules of iptables mode let pass what carries it.
 */
export function routingBit({ masqueradeBit }: MarkSettings): number {
  return (1 << (masqueradeBit === 0 ? 1 : masqueradeBit - 1)) >>> 0
}

/** Matches packets that ipvs mode has taken. */
export function isRouted(settings: MarkSettings): string {
  const mark = hex(routingBit(settings))
  return `-m mark --mark ${mark}/${mark} `
}
