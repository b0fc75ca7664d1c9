import type { Nftables } from '../../../kernel/nftables/nftables.ts'
import { readOnlyNftables } from '../../../kernel/nftables/read-only-nftables.ts'
import { hostPort } from '../../../lib/ip.ts'
import type { ModeView } from '../../definition/mode-view.ts'
import type { NetfilterSettings } from '../../netfilter/settings/settings.ts'
import { createManagedState } from '../kernel/managed-state.ts'
import { observe } from '../kernel/observe.ts'
import { objectOf } from '../keys/object-key.ts'
import { forwardCaveats } from './forward-policy.ts'

/** The nftables mode over a kernel that is only read. */
export async function viewNftables(
  settings: NetfilterSettings,
  kernel: Nftables,
): Promise<ModeView> {
  const nftables = readOnlyNftables(kernel)
  const state = createManagedState(settings, { nftables })
  const { program } = state
  const caveats = await forwardCaveats(nftables, settings.families)
  return {
    ...{ program, caveats, ownPorts: new Set(), drains: false },
    isInProcess: () => false,
    observe: () => observe(state),
    /** Of a frontend its backends, as the elements of its maps name them. */
    wantedLines(key) {
      const entry = objectOf(key).kind === 'frontend' ? program.entryOf(key) : undefined
      if (entry === undefined) return []
      const { cluster, local } = entry.pools
      const backends = new Set([...cluster, ...local].map(({ ip, port }) => hostPort(ip, port)))
      return backends.size === 0 ? ['no backend'] : [...backends].map((one) => `to ${one}`)
    },
    heldLines: async () => undefined,
    close: async () => {},
  }
}
