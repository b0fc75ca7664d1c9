import { readOnlySets } from '../../../kernel/ipset/read-only-sets.ts'
import type { Sets } from '../../../kernel/ipset/sets.ts'
import type { Iptables } from '../../../kernel/iptables/iptables.ts'
import { readOnlyIptables } from '../../../kernel/iptables/read-only-iptables.ts'
import { noopMonitor } from '../../../kernel/nftables-monitor/noop-monitor.ts'
import type { ModeView } from '../../definition/mode-view.ts'
import { HeldRules, wantedRules } from '../../netfilter/chains/held-rules.ts'
import type { NetfilterSettings } from '../../netfilter/settings/settings.ts'
import { IptablesMode } from '../mode.ts'
import { isSetKey } from '../set-key.ts'

/** The iptables mode over a kernel that is only read. */
export function viewIptables(
  settings: NetfilterSettings,
  kernel: { readonly iptables: Iptables; readonly sets: Sets },
): ModeView {
  const iptables = readOnlyIptables(kernel.iptables)
  const sets = readOnlySets(kernel.sets)
  const mode = new IptablesMode(settings, { iptables, sets, monitor: noopMonitor })
  const { program } = mode
  const held = new HeldRules(iptables)
  return {
    ...{ program, caveats: [], ownPorts: new Set(), drains: false },
    isInProcess: () => false,
    observe: () => mode.observe(),
    wantedLines: (key) =>
      isSetKey(key) ? [] : wantedRules(key, (chain) => program.rulesOf(chain)),
    heldLines: async (key) => (isSetKey(key) ? [] : held.of(key)),
    close: async () => {},
  }
}
