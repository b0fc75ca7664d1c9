import { NetlinkSets } from '../../../kernel/ipset/netlink-sets.ts'
import type { Sets } from '../../../kernel/ipset/sets.ts'
import { openIptables } from '../../../kernel/iptables/command-iptables.ts'
import type { Backend, Iptables } from '../../../kernel/iptables/iptables.ts'
import { rawTransport } from '../../../kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER } from '../../../kernel/netlink/transport.ts'
import { deafMonitor } from '../../../kernel/nftables-monitor/deaf-monitor.ts'
import type { ProgramRunner } from '../../../kernel/spawner/program-runner.ts'
import { Spawner } from '../../../kernel/spawner/spawner.ts'
import { ProcSysctl } from '../../../kernel/sysctl/proc-sysctl.ts'
import { systemClock as clock } from '../../../lib/clock.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { IptablesMode } from '../../../modes/iptables/mode.ts'
import type { ExitCode } from '../../../settings/answers.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { NodeProxyConfiguration } from '../../config/configuration.ts'
import { presentFamilies } from '../kernel/present-families.ts'
import { NO_RULES, readRights } from '../kernel/rights.ts'
import { LoopbackRouting } from '../loopback/loopback-routing.ts'
import {
  cleanupSettings,
  ipvsCleanupSettings,
  userspaceCleanupSettings,
} from './cleanup-settings.ts'
import { loadedTables } from './loaded-tables.ts'
import { type Removal, removeAll } from './removals.ts'
import { removeBehindGuard } from './remove-behind-guard.ts'

/** What `iptables` is here, and both back ends by name where this machine has them. */
const BACKENDS: readonly (Backend | undefined)[] = [undefined, 'nft', 'legacy']

/** Removes our objects, whichever mode and back end they were made with. */
export async function cleanUpKernel(
  config: NodeProxyConfiguration,
  log: Logger,
  rights = readRights(),
): Promise<ExitCode> {
  if (!rights.netAdmin) {
    const { code, what, remedy } = NO_RULES
    log.error({ code, remedy }, `${what}, so nothing of ours can be removed`)
    return 2
  }
  const runner = new Spawner()
  const sets = new NetlinkSets(rawTransport(NETLINK_NETFILTER), clock)
  try {
    const backends: Iptables[] = []
    for (const backend of BACKENDS) backends.push(...(await open(backend, { runner, log })))
    const means = { sets, config }
    const sysctl = new ProcSysctl()
    const loopback = new LoopbackRouting({ sysctl, iptables: await answering(backends), log })
    const removals = [
      ...backends.map((iptables) => iptablesRules(iptables, means)),
      ...backends.map((iptables) => ipvs(iptables, means)),
      ...backends.map((iptables) => userspace(iptables, means)),
      ...backends.map((iptables) => iptablesSets(iptables, means)),
    ]
    const failures = await removeBehindGuard(loopback, log, () =>
      removeAll(removals.map(unlessAbsent)),
    )
    for (const error of failures) {
      log.error({ err: error }, 'something of ours could not be removed')
    }
    if (failures.length > 0) return 1
    log.info('nothing of ours is left')
    return 0
  } finally {
    sets.close()
    await runner.close()
  }
}

/** Without those whose tables this kernel does not have. */
async function answering(backends: readonly Iptables[]): Promise<readonly Iptables[]> {
  const answers: Iptables[] = []
  for (const iptables of backends) {
    const ask = async () => {
      await iptables.listChain(4, 'filter', 'INPUT')
      answers.push(iptables)
    }
    await unlessAbsent(ask)()
  }
  return answers
}

interface Means {
  readonly sets: Sets
  readonly config: NodeProxyConfiguration
}

/** None where the machine has no such back end. */
async function open(
  backend: Backend | undefined,
  { runner, log }: { readonly runner: ProgramRunner; readonly log: Logger },
): Promise<readonly Iptables[]> {
  try {
    return [loadedTables(await openIptables({ runner, ...(backend && { backend }) }))]
  } catch (error) {
    log.debug({ backend, err: error }, 'this machine has no such back end')
    return []
  }
}

function iptablesMode(iptables: Iptables, { sets, config }: Means): IptablesMode {
  const settings = { ...cleanupSettings(config), families: presentFamilies() }
  return new IptablesMode(settings, { iptables, sets, monitor: deafMonitor })
}

/** Rules first: those of another back end may still name a set. */
function iptablesRules(iptables: Iptables, means: Means): Removal {
  return () => iptablesMode(iptables, means).removeRules()
}

function iptablesSets(iptables: Iptables, means: Means): Removal {
  return () => iptablesMode(iptables, means).cleanup()
}

function ipvs(iptables: Iptables, { sets, config }: Means): Removal {
  return async () => {
    const { openIpvsDeaf } = await import('../modes/open-ipvs.ts')
    const ground = openIpvsDeaf({ iptables, sets, clock })
    try {
      await ground.build(ipvsCleanupSettings(config, presentFamilies())).cleanup()
    } finally {
      await ground.close()
    }
  }
}

function userspace(iptables: Iptables, { sets, config }: Means): Removal {
  return async () => {
    const { openUserspaceDeaf } = await import('../modes/open-userspace.ts')
    const ground = openUserspaceDeaf({ iptables, sets, clock })
    try {
      await ground.build(userspaceCleanupSettings(config, presentFamilies())).cleanup()
    } finally {
      ground.close()
    }
  }
}

function unlessAbsent(removal: Removal): Removal {
  return async () => {
    try {
      await removal()
    } catch (error) {
      if (!(error instanceof NodeProxyError && NO_NF_TABLES.test(error.message))) throw error
    }
  }
}

/** What iptables-nft says where the kernel has no nf_tables, and so no rules in it. */
const NO_NF_TABLES = /generation id: (?!Permission denied)/
