import type { Family } from '../../../lib/ip.ts'
import type { NetfilterConfiguration } from './configuration.ts'
import { NO_ADDRESS } from './node-port-scope.ts'
import type { NetfilterSettings } from './settings.ts'

/** Cleaning up renders nothing, so all but the mark only have to be complete. */
export function cleanupSettings(
  { iptables }: Pick<NetfilterConfiguration, 'iptables'>,
  families: readonly Family[],
): NetfilterSettings {
  return {
    families,
    masqueradeBit: iptables.masqueradeBit,
    masqueradeAll: false,
    localTraffic: { by: 'none' },
    nodePortScope: NO_ADDRESS,
    localhostNodePorts: false,
    dropMartians: false,
    dropInvalid: true,
    hairpin: 'rules',
    randomFully: false,
  }
}
