import type { NetfilterSettings } from '../../modes/netfilter/settings.ts'

/** Cleaning up renders nothing, so these only have to be complete. */
export const CLEANUP_SETTINGS: Omit<NetfilterSettings, 'families'> = {
  masqueradeBit: 14,
  masqueradeAll: false,
  localTraffic: { by: 'none' },
  nodePortAddresses: [],
  localhostNodePorts: false,
  dropMartians: false,
  dropInvalid: true,
  hairpin: 'rules',
  randomFully: false,
}
