import { existsSync, readFileSync } from 'node:fs'
import { NetlinkSets } from '../../kernel/ipset/netlink-sets.ts'
import type { Sets } from '../../kernel/ipset/sets.ts'
import { openIptables } from '../../kernel/iptables/command-iptables.ts'
import type { Backend, Iptables } from '../../kernel/iptables/iptables.ts'
import { rawTransport } from '../../kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER } from '../../kernel/netlink/transport.ts'
import { deafMonitor } from '../../kernel/nftables-monitor/deaf-monitor.ts'
import type { ProgramRunner } from '../../kernel/spawner/program-runner.ts'
import { Spawner } from '../../kernel/spawner/spawner.ts'
import { systemClock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { Family } from '../../lib/ip.ts'
import { IptablesMode } from '../../modes/iptables/mode.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { ExitCode } from '../program.ts'
import { CLEANUP_SETTINGS } from './cleanup-settings.ts'

/** What `iptables` is here, and both back ends by name where this machine has them. */
const BACKENDS: readonly (Backend | undefined)[] = [undefined, 'nft', 'legacy']

/**
 * Removes our objects, whichever back end they were made with: first all rules,
 * then the sets, which rules of another back end may still name.
 */
export async function cleanUpKernel(log: Logger): Promise<ExitCode> {
  const runner = new Spawner()
  const sets = new NetlinkSets(rawTransport(NETLINK_NETFILTER), systemClock)
  try {
    const modes: IptablesMode[] = []
    for (const backend of BACKENDS) modes.push(...(await modeOf(backend, { runner, sets, log })))
    let isClean = true
    for (const step of ['removeRules', 'cleanup'] as const) {
      for (const mode of modes) isClean = (await attempt(mode, step, log)) && isClean
    }
    if (!isClean) return 1
    log.info('nothing of ours is left')
    return 0
  } finally {
    sets.close()
    await runner.close()
  }
}

interface Means {
  readonly runner: ProgramRunner
  readonly sets: Sets
  readonly log: Logger
}

/** The mode over one back end; none where the machine has no such back end, or never used it. */
async function modeOf(
  backend: Backend | undefined,
  { runner, sets, log }: Means,
): Promise<readonly IptablesMode[]> {
  try {
    const iptables = await openIptables({ runner, ...(backend && { backend }) })
    const families = familiesInUse(iptables)
    if (families.length === 0) return []
    const kernel = { iptables, sets, monitor: deafMonitor }
    return [new IptablesMode({ ...CLEANUP_SETTINGS, families }, kernel)]
  } catch (error) {
    log.debug({ backend, err: error }, 'this machine has no such back end')
    return []
  }
}

/**
 * Families in which the back end may hold something. Asking the legacy one loads
 * its tables into the kernel, so it is only asked for those that are there.
 */
function familiesInUse({ backend }: Iptables): readonly Family[] {
  const families: readonly Family[] = existsSync('/proc/net/if_inet6') ? [4, 6] : [4]
  if (backend === 'nft') return families
  return families.filter((family) => {
    const file = `/proc/net/ip${family === 4 ? '' : '6'}_tables_names`
    return existsSync(file) && /^(nat|filter)$/m.test(readFileSync(file, 'utf8'))
  })
}

async function attempt(
  mode: IptablesMode,
  step: 'removeRules' | 'cleanup',
  log: Logger,
): Promise<boolean> {
  try {
    await mode[step]()
    return true
  } catch (error) {
    if (error instanceof NodeProxyError && NO_NF_TABLES.test(error.message)) return true
    log.error({ err: error }, 'some of our rules could not be removed')
    return false
  }
}

/** What iptables-nft says where the kernel has no nf_tables, and so no rules in it. */
const NO_NF_TABLES = /generation id: (?!Permission denied)/
