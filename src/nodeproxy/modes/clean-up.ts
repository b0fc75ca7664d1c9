import { NetlinkSets } from '../../kernel/ipset/netlink-sets.ts'
import { openIptables } from '../../kernel/iptables/command-iptables.ts'
import type { Iptables, IptablesVariant } from '../../kernel/iptables/iptables.ts'
import { rawTransport } from '../../kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER } from '../../kernel/netlink/transport.ts'
import type { ProgramRunner } from '../../kernel/spawner/program-runner.ts'
import { Spawner } from '../../kernel/spawner/spawner.ts'
import { ProcSysctl } from '../../kernel/sysctl.ts'
import { systemClock as clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type {
  CleanupHost,
  ModeDefinition,
  Removal,
} from '../../modes/definition/mode-definition.ts'
import type { ExitCode } from '../../settings/answers.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'
import { MODES } from '../config/fields/mode-registry.ts'
import { presentFamilies } from '../kernel/kernel.ts'
import { loadedTables } from '../kernel/loaded-tables.ts'
import { cleanUpPolicies } from '../kernel/policy-tables.ts'
import { NO_RULES, readRights } from '../kernel/rights.ts'
import { isGuardedByMode, LoopbackRouting } from '../loopback/loopback-routing.ts'
import { removeAll, removeBehindGuard } from '../loopback/remove-behind-guard.ts'

/** The variant behind the command `iptables`, and both variants by name. */
const VARIANTS: readonly (IptablesVariant | undefined)[] = [undefined, 'nft', 'legacy']

/**
 * Removes all rules and objects of node-proxy: of every mode and iptables variant, and of NetworkPolicies.
 * @returns the exit code: 0, 1 after a failure, 2 without CAP_NET_ADMIN
 */
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
    const variants: Iptables[] = []
    for (const variant of VARIANTS) variants.push(...(await openVariant(variant, { runner, log })))
    const sysctl = new ProcSysctl()
    const loopback = new LoopbackRouting({
      sysctl,
      log,
      iptables: await withTables(variants),
      otherGuard: isGuardedByMode,
    })
    const families = presentFamilies()
    const hosts = variants.map((iptables) => ({ iptables, sets, clock, families, config }))
    const removals = [
      ...removalsOf(MODES, hosts),
      ...removalsWithoutIptables(MODES),
      () => cleanUpPolicies(clock),
    ]
    const failures = await removeBehindGuard(loopback, log, () =>
      removeAll(removals.map(unlessAbsent)),
    )
    for (const error of failures) {
      log.error({ err: error }, 'removing rules or objects of node-proxy failed')
    }
    if (failures.length > 0) return 1
    log.info('removed every rule and object of node-proxy')
    return 0
  } finally {
    sets.close()
    await runner.close()
  }
}

/** The removals of all modes and iptables variants, stage by stage: all first ones, then all second ones. */
export function removalsOf(
  modes: readonly ModeDefinition[],
  hosts: readonly CleanupHost[],
): readonly Removal[] {
  const all = modes.flatMap((mode) => hosts.map((host) => mode.cleanup(host)))
  const stages = Math.max(0, ...all.map(({ length }) => length))
  return Array.from({ length: stages }, (_none, stage) =>
    all.flatMap((removals) => removals.slice(stage, stage + 1)),
  ).flat()
}

function removalsWithoutIptables(modes: readonly ModeDefinition[]): readonly Removal[] {
  return modes.flatMap((mode) => (mode.cleanupRest ? [async () => mode.cleanupRest?.(clock)] : []))
}

/** The variants whose tables this kernel has. */
async function withTables(variants: readonly Iptables[]): Promise<readonly Iptables[]> {
  const found: Iptables[] = []
  for (const iptables of variants) {
    const probe = async () => {
      await iptables.listChain(4, 'filter', 'INPUT')
      found.push(iptables)
    }
    await unlessAbsent(probe)()
  }
  return found
}

/** Opens a variant of iptables; empty when this machine does not have it. */
async function openVariant(
  variant: IptablesVariant | undefined,
  { runner, log }: { readonly runner: ProgramRunner; readonly log: Logger },
): Promise<readonly Iptables[]> {
  try {
    return [loadedTables(await openIptables({ runner, ...(variant && { backend: variant }) }))]
  } catch (error) {
    log.debug({ backend: variant, err: error }, 'this machine has no such variant of iptables')
    return []
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

/** What iptables-nft prints when the kernel has no nf_tables, and therefore no rules of nf_tables. */
const NO_NF_TABLES = /generation id: (?!Permission denied)/
