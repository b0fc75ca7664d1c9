import { NetlinkAddresses } from '../../kernel/addresses.ts'
import { NetlinkConntrack } from '../../kernel/conntrack/netlink-conntrack.ts'
import { NetlinkSets } from '../../kernel/ipset/netlink-sets.ts'
import { openIptables } from '../../kernel/iptables/command-iptables.ts'
import type { Iptables } from '../../kernel/iptables/iptables.ts'
import { ProcModules } from '../../kernel/kernel-modules.ts'
import { ProcListeners } from '../../kernel/listeners.ts'
import { rawTransport } from '../../kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER, NETLINK_ROUTE } from '../../kernel/netlink/transport.ts'
import type { ProgramRunner } from '../../kernel/spawner/program-runner.ts'
import { Spawner } from '../../kernel/spawner/spawner.ts'
import { ProcSysctl, readOnlySysctl } from '../../kernel/sysctl.ts'
import { KernelTraces } from '../../kernel/traces.ts'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { Family } from '../../lib/ip.ts'
import type { MissingRequirement } from '../../modes/mode.ts'
import type { Netfilter, NetfilterAccess } from '../../modes/netfilter/access.ts'
import type { IptablesVariantChoice } from '../config/fields/configuration.ts'
import { type Kernel, openKernelWithoutRules, presentFamilies } from './kernel.ts'
import { NO_RULES, type Rights } from './rights.ts'

/** How to open the kernel. */
export interface KernelOptions {
  readonly clock: Clock
  readonly variant: IptablesVariantChoice
  readonly rights: Rights
  /** Nothing is written: settings stay, and iptables only tests what it is to restore. */
  readonly readOnly?: boolean
}

/**
 * Opens the kernel of this network namespace, read-only when this process may not write rules. Without iptables,
 * `netfilter` says so, and everything else works.
 */
export async function openKernel(options: KernelOptions): Promise<Kernel> {
  const { clock, variant, rights, readOnly = false } = options
  if (!rights.netAdmin) return openKernelWithoutRules(clock, NO_RULES)
  const runner = new Spawner()
  try {
    const netfilter = await openNetfilter({ runner, clock, variant, onlyTests: readOnly })
    const kernel = withRights(netfilter, { clock, runner })
    return readOnly ? { ...kernel, sysctl: readOnlySysctl(kernel.sysctl) } : kernel
  } catch (error) {
    await runner.close()
    throw error
  }
}

function withRights(
  netfilter: NetfilterAccess,
  { clock, runner }: { readonly clock: Clock; readonly runner: ProgramRunner },
): Kernel {
  const conntrack = new NetlinkConntrack(rawTransport(NETLINK_NETFILTER), clock)
  const traces = new KernelTraces(rawTransport(NETLINK_NETFILTER), clock)
  return {
    rights: { ok: true },
    netfilter,
    families: netfilter.ok ? netfilter.families : presentFamilies(),
    conntrack,
    sysctl: new ProcSysctl(),
    addresses: new NetlinkAddresses(rawTransport(NETLINK_ROUTE), clock),
    listeners: new ProcListeners(),
    traces,
    async close() {
      conntrack.close()
      traces.close()
      if (netfilter.ok) netfilter.parts.sets.close()
      await runner.close()
    },
  }
}

/** How to open netfilter. */
interface NetfilterOptions {
  readonly runner: ProgramRunner
  readonly clock: Clock
  readonly variant: IptablesVariantChoice
  /** Restores are only tested. */
  readonly onlyTests?: boolean
}

/** Opens netfilter for a process with CAP_NET_ADMIN. @returns what is missing when there is no iptables (NP_KERNEL_IPTABLES) */
export async function openNetfilter(options: NetfilterOptions): Promise<NetfilterAccess> {
  const { runner, clock, variant, onlyTests = false } = options
  try {
    const iptables = await openIptables({
      runner,
      onlyTests,
      backend: variant === '' ? undefined : variant,
    })
    const families = await workingFamilies(iptables)
    const parts: Netfilter = {
      iptables,
      sets: new NetlinkSets(rawTransport(NETLINK_NETFILTER), clock),
      modules: new ProcModules(runner),
    }
    return { ok: true, parts, families }
  } catch (error) {
    return { ok: false, missing: missingIptables(error) }
  }
}

/** IPv4, and IPv6 if iptables works for it. A locked or slow iptables counts as working. */
async function workingFamilies(iptables: Iptables): Promise<readonly Family[]> {
  const six = await iptables.restore(6, '*nat\nCOMMIT\n*filter\nCOMMIT\n')
  const busy = !six.ok && (six.kind === 'locked' || six.kind === 'timeout')
  return six.ok || busy ? [4, 6] : [4]
}

function missingIptables(error: unknown): MissingRequirement {
  if (!(error instanceof NodeProxyError) || error.code !== 'NP_KERNEL_IPTABLES') throw error
  return { code: error.code, what: error.message, remedy: error.hint ?? 'install iptables' }
}
