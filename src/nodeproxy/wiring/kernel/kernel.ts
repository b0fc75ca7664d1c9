import type { Addresses } from '../../../kernel/addresses/addresses.ts'
import { NetlinkAddresses } from '../../../kernel/addresses/netlink-addresses.ts'
import type { Conntrack } from '../../../kernel/conntrack/conntrack.ts'
import { NetlinkConntrack } from '../../../kernel/conntrack/netlink-conntrack.ts'
import type { Listeners } from '../../../kernel/listener/listeners.ts'
import { ProcListeners } from '../../../kernel/listener/proc-listeners.ts'
import { rawTransport } from '../../../kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER, NETLINK_ROUTE } from '../../../kernel/netlink/transport.ts'
import type { ProgramRunner } from '../../../kernel/spawner/program-runner.ts'
import { Spawner } from '../../../kernel/spawner/spawner.ts'
import { ProcSysctl } from '../../../kernel/sysctl/proc-sysctl.ts'
import type { Sysctl } from '../../../kernel/sysctl/sysctl.ts'
import { KernelTraces } from '../../../kernel/traces/kernel-traces.ts'
import type { Traces } from '../../../kernel/traces/traces.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Family } from '../../../lib/ip.ts'
import type { IptablesBackend } from '../../config/configuration.ts'
import { openKernelWithoutRules } from './kernel-without-rules.ts'
import { type NetfilterAccess, openNetfilter } from './netfilter.ts'
import { NO_RULES, type Rights } from './rights.ts'

/** Every way in which the daemon touches this kernel; what only one mode needs, that mode opens. */
export interface Kernel {
  readonly netfilter: NetfilterAccess
  readonly families: readonly Family[]
  readonly conntrack: Conntrack
  readonly sysctl: Sysctl
  readonly addresses: Addresses
  readonly listeners: Listeners
  readonly traces: Traces
  close(): Promise<void>
}

export interface KernelOptions {
  readonly clock: Clock
  readonly backend: IptablesBackend
  readonly rights: Rights
}

/** Opens the real kernel of this network namespace, as far as this process may. */
export async function openKernel({ clock, backend, rights }: KernelOptions): Promise<Kernel> {
  if (!rights.netAdmin) return openKernelWithoutRules(clock, NO_RULES)
  const runner = new Spawner()
  try {
    const netfilter = await openNetfilter({ runner, clock, backend })
    if (netfilter.ok) return withRules(netfilter, { clock, runner })
    await runner.close()
    return openKernelWithoutRules(clock, netfilter.lack)
  } catch (error) {
    await runner.close()
    throw error
  }
}

function withRules(
  netfilter: Extract<NetfilterAccess, { ok: true }>,
  { clock, runner }: { readonly clock: Clock; readonly runner: ProgramRunner },
): Kernel {
  const conntrack = new NetlinkConntrack(rawTransport(NETLINK_NETFILTER), clock)
  const traces = new KernelTraces(rawTransport(NETLINK_NETFILTER), clock)
  return {
    netfilter,
    families: netfilter.families,
    conntrack,
    sysctl: new ProcSysctl(),
    addresses: new NetlinkAddresses(rawTransport(NETLINK_ROUTE), clock),
    listeners: new ProcListeners(),
    traces,
    async close() {
      conntrack.close()
      traces.close()
      netfilter.parts.sets.close()
      await runner.close()
    },
  }
}
