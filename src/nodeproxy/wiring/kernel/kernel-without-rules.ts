import { NetlinkAddresses } from '../../../kernel/addresses/netlink-addresses.ts'
import { idleConntrack } from '../../../kernel/conntrack/idle-conntrack.ts'
import { ProcListeners } from '../../../kernel/listener/proc-listeners.ts'
import { rawTransport } from '../../../kernel/netlink/raw-transport.ts'
import { NETLINK_ROUTE } from '../../../kernel/netlink/transport.ts'
import { untouchedSysctl } from '../../../kernel/sysctl/untouched-sysctl.ts'
import { noTraces } from '../../../kernel/traces/no-traces.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { Lack } from '../modes/mode-kind.ts'
import type { Kernel } from './kernel.ts'
import { presentFamilies } from './present-families.ts'

/** The kernel as every process may see it: nothing of it is changed, and no program is started. */
export function openKernelWithoutRules(clock: Clock, lack: Lack): Kernel {
  return {
    netfilter: { ok: false, lack },
    families: presentFamilies(),
    conntrack: idleConntrack,
    sysctl: untouchedSysctl,
    addresses: new NetlinkAddresses(rawTransport(NETLINK_ROUTE), clock),
    listeners: new ProcListeners(),
    traces: noTraces,
    close: async () => {},
  }
}

const NOT_DONE = ['rules and IP sets', 'kernel settings (conntrack.*)', 'cutting stale flows']

/** Says once what is not done in such a kernel, and why. */
export function tellWhatIsNotDone({ netfilter }: Pick<Kernel, 'netfilter'>, log: Logger): void {
  if (netfilter.ok) return
  const { code, what, remedy } = netfilter.lack
  log.warn({ code, remedy, notDone: NOT_DONE }, `no rules are written: ${what}`)
}
