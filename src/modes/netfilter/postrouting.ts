import type { Family } from '../../lib/ip.ts'
import { type HairpinMatch, isHairpin } from './hairpin.ts'
import { clearMark, isNotMarked } from './mark.ts'
import type { NetfilterSettings } from './settings/settings.ts'

/**
 * Where masquerade happens. Whether a packet is to be masqueraded was decided
 * in forwarding (`Frontend.masquerade`) and written into the packet's mark;
 * only a pod's connection to itself is recognised here.
 */
export function postrouting(
  settings: NetfilterSettings,
  family: Family,
  hairpin: HairpinMatch = isHairpin,
): readonly string[] {
  const masquerade = `-j MASQUERADE${settings.randomFully ? ' --random-fully' : ''}`
  return [
    ...(settings.hairpin === 'bpf' ? [hairpin(family) + masquerade] : []),
    `${isNotMarked(settings)}-j RETURN`,
    clearMark(settings),
    masquerade,
  ]
}

/** Which source ports masqueraded connections get, for the log. */
export function masqueradeFacts({ randomFully }: Pick<NetfilterSettings, 'randomFully'>): {
  readonly masqueradePorts: 'keep' | 'random'
} {
  return { masqueradePorts: randomFully ? 'random' : 'keep' }
}
