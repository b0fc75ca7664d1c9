import { noopConntrack } from '../../../kernel/conntrack/noop-conntrack.ts'
import { readOnlySets } from '../../../kernel/ipset/read-only-sets.ts'
import { readOnlyIptables } from '../../../kernel/iptables/read-only-iptables.ts'
import { noopMonitor } from '../../../kernel/nftables-monitor/noop-monitor.ts'
import { readOnlyRoutes } from '../../../kernel/route/read-only-routes.ts'
import type { ModeView } from '../../definition/mode-view.ts'
import { HeldRules, wantedRules } from '../../netfilter/chains/held-rules.ts'
import { createManagedState, type RedirectKernel } from '../managed-state.ts'
import { kindOf } from '../object.ts'
import { observe } from '../observe.ts'
import type { PortsByFamily } from '../program.ts'
import { portsInKernel } from '../redirect-ports.ts'
import type { UserspaceSettings } from '../settings.ts'

/** What the view reads; undefined where nothing is redirected, so that nothing is in the kernel. */
export type UserspaceViewKernel = Pick<RedirectKernel, 'iptables' | 'sets' | 'routes' | 'clock'>

/**
 * The userspace mode over a kernel that is only read. The ports at which the workers of a running node-proxy listen
 * are those of the rules in the kernel.
 */
export async function viewUserspace(
  settings: UserspaceSettings,
  kernel: UserspaceViewKernel | undefined,
): Promise<ModeView> {
  const iptables = kernel && readOnlyIptables(kernel.iptables)
  const ports: PortsByFamily = iptables === undefined ? new Map() : await portsInKernel(iptables)
  const state = createManagedState(settings, {
    ports,
    ...(kernel &&
      iptables && {
        kernel: {
          iptables,
          clock: kernel.clock,
          monitor: noopMonitor,
          conntrack: noopConntrack,
          sets: readOnlySets(kernel.sets),
          routes: readOnlyRoutes(kernel.routes),
        },
      }),
  })
  const { program } = state
  const held = iptables && new HeldRules(iptables)
  const isRule = (key: Parameters<typeof kindOf>[0]) => kindOf(key) === 'rule'
  return {
    program,
    caveats: [],
    drains: true,
    ownPorts: new Set([...ports.values()].flatMap(({ pods, others }) => [pods, others])),
    isInProcess: (key) => kindOf(key) === 'entry',
    observe: () => observe(state, undefined),
    wantedLines: (key) => (isRule(key) ? wantedRules(key, (one) => program.rulesOf(one)) : []),
    heldLines: async (key) => (held && isRule(key) ? held.of(key) : []),
    close: async () => kernel?.routes.close(),
  }
}
