import { release } from 'node:os'
import { deniedDriver } from '../../definition/denied-driver.ts'
import type { CleanupHost, ModeDefinition, ModeHost } from '../../definition/mode-definition.ts'
import type { ModeDriver } from '../../definition/mode-driver.ts'
import { missingRules } from '../../netfilter/access.ts'
import { cleanupSettings } from '../../netfilter/settings/netfilter-settings.ts'
import { GAPS } from '../gaps.ts'
import { CHAIN } from '../objects/names.ts'
import type { IpvsSettings } from '../settings.ts'
import type { IpvsConfiguration } from './configuration.ts'
import { ipvsFields } from './fields.ts'
import { hasIpvs } from './has-ipvs.ts'
import { IpvsDriver } from './ipvs-driver.ts'

/** The ipvs mode, as the daemon's registry of modes has it. */
export const ipvs: ModeDefinition<IpvsConfiguration> = {
  name: 'ipvs',
  gaps: GAPS,
  fields: ipvsFields,
  loopbackGuard: CHAIN.martians,
  periods: (config) => config.ipvs,
  conflicts: () => [],
  requirements: (_config, access) => missingRules(access),
  createDriver,
  cleanup: (host) => [() => cleanUp(host)],
}

/** What forwards is loaded when it is needed first. */
function createDriver(host: ModeHost): ModeDriver<IpvsConfiguration> {
  const { netfilter, sysctl, families, clock, log } = host
  if (!netfilter.ok) return deniedDriver(ipvs, netfilter.missing)
  const { iptables, sets, modules } = netfilter.parts
  const code = () => import('./open-ipvs.ts')
  return new IpvsDriver({
    ...{ iptables, modules, sysctl, clock, log, hasIpvs },
    release: release(),
    open: async () => (await code()).openIpvs({ iptables, sets, clock, families }),
    view: async (settings) => (await code()).openIpvsToRead({ iptables, sets, clock }, settings),
    openForCleanup: async () => (await code()).openIpvsForCleanup({ iptables, sets, clock }),
  })
}

async function cleanUp({ iptables, sets, clock, families, config }: CleanupHost): Promise<void> {
  const { openIpvsForCleanup } = await import('./open-ipvs.ts')
  const runtime = openIpvsForCleanup({ iptables, sets, clock })
  const settings: IpvsSettings = {
    netfilter: cleanupSettings(config, families),
    scheduler: 'rr',
    nodeAddresses: [],
    excludeCIDRs: [],
    timeouts: { tcp: 0, tcpFin: 0, udp: 0 },
    drain: { tcp: 0, udp: 0, sctp: 0 },
  }
  try {
    await runtime.build(settings).cleanup()
  } finally {
    await runtime.close()
  }
}
