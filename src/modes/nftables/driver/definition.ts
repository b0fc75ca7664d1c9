import { deniedDriver } from '../../definition/denied-driver.ts'
import type { ModeDefinition, ModeHost } from '../../definition/mode-definition.ts'
import type { ModeDriver } from '../../definition/mode-driver.ts'
import { missingRules } from '../../netfilter/access.ts'
import { GAPS } from '../gaps.ts'
import type { NftablesConfiguration } from './configuration.ts'
import { nftablesFields } from './fields.ts'
import { nftablesDriver } from './nftables-driver.ts'

/** The nftables mode. */
export const nftables: ModeDefinition<NftablesConfiguration> = {
  name: 'nftables',
  gaps: GAPS,
  fields: nftablesFields,
  kubeProxyDefaults: { nodePortAddresses: ['primary'] },
  periods: (config) => config.nftables,
  conflicts: () => [],
  requirements: (_config, access) => missingRules(access),
  createDriver,
  cleanup: () => [],
  guardsLoopback: async (clock) => (await import('./open-nftables.ts')).guardsLoopback(clock),
  cleanupRest: async (clock) => (await import('./open-nftables.ts')).cleanUpTables(clock),
}

/** What forwards is loaded when it is needed first. */
function createDriver({
  rights,
  netfilter,
  families,
  clock,
}: ModeHost): ModeDriver<NftablesConfiguration> {
  if (!rights.ok) return deniedDriver(nftables, rights.missing)
  const code = () => import('./open-nftables.ts')
  return nftablesDriver({
    families,
    iptables: netfilter,
    open: async () => (await code()).openRuntime(clock),
  })
}
