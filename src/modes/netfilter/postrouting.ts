import type { Family } from '../../lib/ip.ts'
import { clearMark, isNotMarked } from './mark.ts'
import type { NetfilterSettings } from './settings/settings.ts'

/**
 * Where masquerade happens. Whether a packet is to be masqueraded was decided
 * in forwarding (`Frontend.masquerade`) and written into the packet's mark;
 * only a pod's connection to itself is recognised here, by `hairpinMatch`.
 */
export function postrouting(
  settings: NetfilterSettings,
  family: Family,
  hairpinMatch = isHairpin(family),
): readonly string[] {
  const masquerade = `-j MASQUERADE${settings.randomFully ? ' --random-fully' : ''}`
  return [
    ...(settings.hairpin === 'bpf' ? [hairpinMatch + masquerade] : []),
    `${isNotMarked(settings)}-j RETURN`,
    clearMark(settings),
    masquerade,
  ]
}

/** Where rules translate: NATed connections of a pod to itself. */
export function isHairpin(family: Family): string {
  return `-m conntrack --ctstate DNAT ${sameAddresses(family)}`
}

/**
 * Where IPVS translates, which conntrack does not count as DNAT. What this node says to
 * itself stays on loopback; everything else with equal addresses was translated.
 */
export function isHairpinOffLoopback(family: Family): string {
  return `! -o lo ${sameAddresses(family)}`
}

/** Which source ports masqueraded connections get, for the log. */
export function masqueradeFacts({ randomFully }: Pick<NetfilterSettings, 'randomFully'>): {
  readonly masqueradePorts: 'keep' | 'random'
} {
  return { masqueradePorts: randomFully ? 'random' : 'keep' }
}

/**
 * Classic BPF over the packet from its network header: true when source and
 * destination address are equal. After translation that is a pod which reached itself
 * through a VIP, whose replies would never come back without masquerade. One
 * rule for the node replaces a rule or a set entry per endpoint.
 */
const PROGRAM: Readonly<Record<Family, string>> = {
  4: equalWords(12, 16, 1),
  6: equalWords(8, 24, 4),
}

function sameAddresses(family: Family): string {
  return `-m bpf --bytecode "${PROGRAM[family]}" `
}

/** `load a; tax; load b; jeq x` for each 32-bit word, then accept or refuse. */
function equalWords(source: number, destination: number, words: number): string {
  const refuse = 4 * words + 1
  const compare = Array.from({ length: words }, (_, word) => [
    `32 0 0 ${source + 4 * word}`,
    '7 0 0 0',
    `32 0 0 ${destination + 4 * word}`,
    `29 0 ${refuse - (4 * word + 3) - 1} 0`,
  ]).flat()
  const program = [...compare, '6 0 0 1', '6 0 0 0']
  return [program.length, ...program].join(',')
}
