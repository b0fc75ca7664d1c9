import { NetlinkSets } from '../../../kernel/ipset/netlink-sets.ts'
import type { Sets } from '../../../kernel/ipset/sets.ts'
import { openIptables } from '../../../kernel/iptables/command-iptables.ts'
import type { Iptables } from '../../../kernel/iptables/iptables.ts'
import type { KernelModules } from '../../../kernel/modules/kernel-modules.ts'
import { ProcModules } from '../../../kernel/modules/proc-modules.ts'
import { rawTransport } from '../../../kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER } from '../../../kernel/netlink/transport.ts'
import type { RuleMonitor } from '../../../kernel/nftables-monitor/rule-monitor.ts'
import type { ProgramRunner } from '../../../kernel/spawner/program-runner.ts'
import type { Clock } from '../../../lib/clock.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { Family } from '../../../lib/ip.ts'
import { TERRITORY } from '../../../modes/iptables/names.ts'
import type { IptablesBackend } from '../../config/configuration.ts'
import type { Lack } from '../modes/mode-kind.ts'
import { openMonitor } from './open-monitor.ts'

/** What rules are written with, and the modules behind them. */
export interface Netfilter {
  readonly iptables: Iptables
  readonly sets: Sets
  /** Hears changes of the iptables mode's chains. */
  readonly monitor: RuleMonitor
  readonly modules: KernelModules
}

/** Rules, or why this daemon cannot write any: then only modes that need none can work. */
export type NetfilterAccess =
  | { readonly ok: true; readonly parts: Netfilter; readonly families: readonly Family[] }
  | { readonly ok: false; readonly lack: Lack }

export interface NetfilterOptions {
  readonly runner: ProgramRunner
  readonly clock: Clock
  readonly backend: IptablesBackend
}

/** Opens it for a process that may write rules; a machine without iptables is a value. */
export async function openNetfilter(options: NetfilterOptions): Promise<NetfilterAccess> {
  const { runner, clock, backend } = options
  try {
    const iptables = await openIptables({ runner, backend: backend === '' ? undefined : backend })
    const families = await workingFamilies(iptables)
    const parts: Netfilter = {
      iptables,
      sets: new NetlinkSets(rawTransport(NETLINK_NETFILTER), clock),
      monitor: await openMonitor(iptables, { clock, families, territory: TERRITORY }),
      modules: new ProcModules(runner),
    }
    return { ok: true, parts, families }
  } catch (error) {
    return { ok: false, lack: lackOf(error) }
  }
}

/** IPv4, and IPv6 where this kernel has it; a lock that somebody holds says nothing. */
async function workingFamilies(iptables: Iptables): Promise<readonly Family[]> {
  const six = await iptables.restore(6, '*nat\nCOMMIT\n*filter\nCOMMIT\n')
  const busy = !six.ok && (six.kind === 'locked' || six.kind === 'timeout')
  return six.ok || busy ? [4, 6] : [4]
}

function lackOf(error: unknown): Lack {
  if (!(error instanceof NodeProxyError) || error.code !== 'NP_KERNEL_IPTABLES') throw error
  return { code: error.code, what: error.message, remedy: error.hint ?? 'install iptables' }
}
