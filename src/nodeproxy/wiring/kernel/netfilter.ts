import { NetlinkSets } from '../../../kernel/ipset/netlink-sets.ts'
import { openIptables } from '../../../kernel/iptables/command-iptables.ts'
import type { Iptables } from '../../../kernel/iptables/iptables.ts'
import { ProcModules } from '../../../kernel/modules/proc-modules.ts'
import { rawTransport } from '../../../kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER } from '../../../kernel/netlink/transport.ts'
import type { ProgramRunner } from '../../../kernel/spawner/program-runner.ts'
import type { Clock } from '../../../lib/clock.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { Family } from '../../../lib/ip.ts'
import type { MissingRequirement } from '../../../modes/mode.ts'
import type { Netfilter, NetfilterAccess } from '../../../modes/netfilter/access.ts'
import type { IptablesVariantChoice } from '../../config/fields/configuration.ts'

/** How to open netfilter. */
export interface NetfilterOptions {
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
      ...{ runner, onlyTests },
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
