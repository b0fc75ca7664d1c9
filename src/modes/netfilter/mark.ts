import type { NetfilterSettings } from './settings/settings.ts'

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

/** Matches packets that are to be masqueraded. */
export function isMarked(settings: MarkSettings): string {
  return `-m mark --mark ${bit(settings)}/${bit(settings)} `
}

/** The negation of `isMarked`. */
export function isNotMarked(settings: MarkSettings): string {
  return `-m mark ! --mark ${bit(settings)}/${bit(settings)} `
}

/** Target: clears the mark, so that an encapsulated copy is not masqueraded again. */
export function clearMark(settings: MarkSettings): string {
  return `-j MARK --set-xmark ${bit(settings)}/0x0`
}

/**
 * The mark of packets that ipvs or userspace mode has taken, 1–2³¹: the bit below the masquerade bit, or the one above
 * it if the masquerade bit is the lowest. A packet to a Service carries it from mangle PREROUTING on, so that a policy
 * route delivers it locally. While one mode takes over from the other, the rules of both modes exist, and exactly one
 * of them may handle a new connection: the rules of iptables mode let packets with this mark pass.
 */
export function routingBit({ masqueradeBit }: MarkSettings): number {
  return (1 << (masqueradeBit === 0 ? 1 : masqueradeBit - 1)) >>> 0
}

/** Matches packets that ipvs or userspace mode has taken. */
export function isRouted(settings: MarkSettings): string {
  const mark = hex(routingBit(settings))
  return `-m mark --mark ${mark}/${mark} `
}

/** Target: the policy route delivers this packet to this node. */
export function setRouted(settings: MarkSettings): string {
  const mark = hex(routingBit(settings))
  return `-j MARK --set-xmark ${mark}/${mark}`
}

/** Target: clears the routing bit of a packet that was delivered. */
export function clearRouted(settings: MarkSettings): string {
  return `-j MARK --set-xmark 0x0/${hex(routingBit(settings))}`
}

/**
 * Matches the client's packets, and ICMP errors about them, of connections that `setTaken` marked. They stay with
 * userspace mode even if the Service changes or is deleted.
 */
export function isTaken(settings: MarkSettings): string {
  const mark = hex(routingBit(settings))
  return `-m conntrack --ctdir ORIGINAL -m connmark --mark ${mark}/${mark} `
}

/** Target: conntrack remembers that userspace mode has this connection, by the routing bit. */
export function setTaken(settings: MarkSettings): string {
  const mark = hex(routingBit(settings))
  return `-j CONNMARK --set-xmark ${mark}/${mark}`
}

/**
 * The mark (SO_MARK) of userspace mode's own connections to backends, which are never taken, even if the address of a
 * backend is that of a Service. It is a bit that is 0 in every short-circuit mark of ipvs mode, and neither the
 * masquerade bit nor the routing bit.
 */
export function ownMark({ masqueradeBit }: MarkSettings): number {
  return masqueradeBit < 9 ? 0x200 : 0x40
}

/** Matches packets of userspace mode's own connections. */
export function isOwn(settings: MarkSettings): string {
  const mark = hex(ownMark(settings))
  return `-m mark --mark ${mark}/${mark} `
}
