import { NetlinkAddresses } from '../../../kernel/addresses.ts'
import { noopConntrack } from '../../../kernel/conntrack/conntrack.ts'
import { ProcListeners } from '../../../kernel/listeners.ts'
import { rawTransport } from '../../../kernel/netlink/raw-transport.ts'
import { NETLINK_ROUTE } from '../../../kernel/netlink/transport.ts'
import { noopSysctl } from '../../../kernel/sysctl.ts'
import { noopTraces } from '../../../kernel/traces.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { MissingRequirement } from '../../../modes/mode.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import { type Kernel, presentFamilies } from './kernel.ts'

/** The kernel for a process without the right to write rules: it is only read, and no program is started. */
export function openKernelWithoutRules(clock: Clock, missing: MissingRequirement): Kernel {
  return {
    rights: { ok: false, missing },
    netfilter: { ok: false, missing },
    families: presentFamilies(),
    conntrack: noopConntrack,
    sysctl: noopSysctl,
    addresses: new NetlinkAddresses(rawTransport(NETLINK_ROUTE), clock),
    listeners: new ProcListeners(),
    traces: noopTraces,
    close: async () => {},
  }
}

const NOT_DONE = ['rules and IP sets', 'kernel settings (conntrack.*)', 'cutting stale flows']

/** Logs once which features are missing without rules, and why. */
export function logMissingFeatures({ rights }: Pick<Kernel, 'rights'>, log: Logger): void {
  if (rights.ok) return
  const { code, what, remedy } = rights.missing
  log.warn({ code, remedy, notDone: NOT_DONE }, `no rules are written: ${what}`)
}
