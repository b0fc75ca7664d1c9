import type { Iptables } from '../../../kernel/iptables/iptables.ts'
import { openXtables } from '../../../kernel/iptables/xtables.ts'
import { XtablesMonitor } from '../../../kernel/iptables/xtables-monitor.ts'
import { rawTransport } from '../../../kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER } from '../../../kernel/netlink/transport.ts'
import { authorship, ChainCollector } from '../../../kernel/nftables/generation-collector.ts'
import { NftablesMonitor, noopMonitor } from '../../../kernel/nftables/nftables-monitor.ts'
import type {
  RuleChange,
  RuleMonitor,
  TouchedChain,
} from '../../../kernel/nftables/rule-monitor.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Family } from '../../../lib/ip.ts'
import type { ForeignChange, ObjectKey } from '../../mode.ts'
import type { OwnedChains } from './keeper-options.ts'
import { type ChainLocation, keyOf } from './object.ts'

/**
 * Whether a chain may hold objects of a mode: it is one of the mode's chains, or a built-in one that the mode may jump
 * from. If `chain` is undefined, the whole table is meant.
 */
export function concerns({ prefix, tables }: OwnedChains, touched: TouchedChain): boolean {
  if (!tables.some((table) => table === touched.table)) return false
  const { chain } = touched
  return chain === undefined || chain.startsWith(prefix) || /^[A-Z]+$/.test(chain)
}

/** The objects of a mode that a change by another process may have touched; undefined if there are no such objects. */
export function foreignChange(
  { touched, by }: RuleChange,
  owned: OwnedChains,
  jumpsIn: (place: ChainLocation) => readonly ObjectKey[],
): ForeignChange | undefined {
  const name = by === undefined ? 'another program' : `${by.process} (pid ${by.pid})`
  if (touched === 'unknown') return { keys: 'all', by: name }
  const ours = touched.filter((one) => concerns(owned, one))
  const places = ours.filter(isPlace)
  if (places.length < ours.length) return { keys: 'all', by: name }
  const keys = places.flatMap((place) =>
    place.chain.startsWith(owned.prefix) ? [keyOf({ kind: 'chain', ...place })] : jumpsIn(place),
  )
  return keys.length === 0 ? undefined : { keys: [...new Set(keys)], by: name }
}

/** Whether this is one chain instead of a whole table; its table is one of the mode's tables. */
function isPlace(touched: TouchedChain): touched is TouchedChain & ChainLocation {
  return touched.chain !== undefined
}

/** Which changes are watched for. */
interface MonitorOptions {
  readonly clock: Clock
  readonly families: readonly Family[]
  /** The chains whose changes are reported. */
  readonly owned: OwnedChains
}

/** Watches for changes to chains by other processes; does nothing where the kernel reports no changes. */
export async function openMonitor(
  { backend }: Iptables,
  { clock, families, owned }: MonitorOptions,
): Promise<RuleMonitor> {
  if (backend === 'nft') {
    return new NftablesMonitor(rawTransport(NETLINK_NETFILTER), {
      clock,
      collector: new ChainCollector(),
      concerns: (touched) => concerns(owned, touched),
      authorship: authorship(),
    })
  }
  const xtables = await openXtables()
  const tables = families.flatMap((family) => owned.tables.map((table) => ({ family, table })))
  return xtables ? new XtablesMonitor(xtables, { clock, tables }) : noopMonitor
}
