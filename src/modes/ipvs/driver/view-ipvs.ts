import { readOnlySets } from '../../../kernel/ipset/read-only-sets.ts'
import type { Sets } from '../../../kernel/ipset/sets.ts'
import type { Iptables } from '../../../kernel/iptables/iptables.ts'
import { readOnlyIptables } from '../../../kernel/iptables/read-only-iptables.ts'
import type { Ipvs } from '../../../kernel/ipvs/ipvs.ts'
import { noIpvs, readOnlyIpvs } from '../../../kernel/ipvs/read-only-ipvs.ts'
import { noopMonitor } from '../../../kernel/nftables-monitor/noop-monitor.ts'
import { noRelays } from '../../../kernel/relay/no-relays.ts'
import { readOnlyRoutes } from '../../../kernel/route/read-only-routes.ts'
import type { Routes } from '../../../kernel/route/routes.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { ModeView } from '../../definition/mode-view.ts'
import type { MissingRequirement, ObjectKey } from '../../mode.ts'
import { HeldRules, wantedRules } from '../../netfilter/chains/held-rules.ts'
import { createManagedState } from '../managed-state.ts'
import { kindOf } from '../objects/object.ts'
import { observeAll } from '../observe.ts'
import { specText, splitText } from '../servers/server-spec.ts'
import type { IpvsSettings } from '../settings.ts'

/** What the view reads; `ipvs` is undefined where this kernel has no ip_vs. */
export interface IpvsViewKernel {
  readonly ipvs: Ipvs | undefined
  readonly sets: Sets
  readonly routes: Routes
  readonly iptables: Iptables
  readonly clock: Clock
}

const NOT_LOADED: MissingRequirement = {
  code: 'NP_IPVS_MODULE_MISSING',
  what: 'kernel module ip_vs is not loaded',
  remedy: 'modprobe ip_vs',
}

/** The ipvs mode over a kernel that is only read. */
export function viewIpvs(settings: IpvsSettings, kernel: IpvsViewKernel): ModeView {
  const { routes, clock } = kernel
  const iptables = readOnlyIptables(kernel.iptables)
  const state = createManagedState(settings, {
    ...{ iptables, clock, monitor: noopMonitor, relays: noRelays },
    ipvs: kernel.ipvs === undefined ? noIpvs : readOnlyIpvs(kernel.ipvs),
    sets: readOnlySets(kernel.sets),
    routes: readOnlyRoutes(routes),
  })
  const { program, servers } = state
  const held = new HeldRules(iptables)
  return {
    ...{ program, ownPorts: new Set(), drains: true },
    caveats: kernel.ipvs === undefined ? [NOT_LOADED] : [],
    isInProcess: (key) => kindOf(key) === 'relay',
    observe: () => observeAll(state),
    wantedLines(key) {
      if (kindOf(key) === 'rule') return wantedRules(key, (chain) => program.rulesOf(chain))
      const spec = kindOf(key) === 'vs' ? program.specOf(key) : undefined
      return spec === undefined ? [] : serverLines(specText(spec))
    },
    async heldLines(key: ObjectKey) {
      if (kindOf(key) === 'rule') return held.of(key)
      const text = servers.known.get(key)
      return text === undefined ? [] : serverLines(text)
    },
    close: async () => {
      kernel.ipvs?.close()
      routes.close()
    },
  }
}

/** The settings of a virtual server, then each of its real servers: `10.0.0.1:80*1`. */
function serverLines(text: string): readonly string[] {
  const [settings, real] = splitText(text)
  return [settings, ...real.split(' ').filter((one) => one !== '')]
}
