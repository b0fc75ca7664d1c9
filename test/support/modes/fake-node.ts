import type { EntryId, ForwardingEntry } from '../../../src/forwarding/entry.ts'
import { FakeSets } from '../../../src/kernel/ipset/testing/fake-sets.ts'
import type { Iptables } from '../../../src/kernel/iptables/iptables.ts'
import { FakeIptables } from '../../../src/kernel/iptables/testing/fake-iptables.ts'
import { FakeMonitor } from '../../../src/kernel/testing/fake-monitor.ts'
import { IptablesMode } from '../../../src/modes/iptables/mode.ts'
import type { NetfilterSettings } from '../../../src/modes/netfilter/settings/settings.ts'
import { entry, frontend, ip, settings } from '../../../src/modes/testing/mode-fixtures.ts'
import { driveMode } from './drive-mode.ts'

interface NodeOptions {
  readonly sets?: FakeSets
  readonly iptables?: FakeIptables
  /** Wraps the fake iptables for the mode. */
  readonly through?: (iptables: FakeIptables) => Iptables
  readonly settings?: Partial<NetfilterSettings>
}

/** The iptables mode over a fake kernel, with everything between an entry and that kernel. */
export function fakeNode(options: NodeOptions = {}) {
  const sets = options.sets ?? new FakeSets()
  const iptables = options.iptables ?? new FakeIptables({ sets })
  sets.isUsed = (name) => iptables.refersTo(name)
  const monitor = new FakeMonitor()
  const kernel = { iptables: options.through?.(iptables) ?? iptables, sets, monitor }
  const mode = new IptablesMode(settings(options.settings), kernel)
  return { sets, iptables, monitor, mode, ...driveMode(mode) }
}

/** A ClusterIP Service with one address. */
export function serviceAt(
  name: string,
  address: string,
  overrides: Partial<ForwardingEntry> = {},
): ForwardingEntry {
  return entry({
    id: name as EntryId,
    frontends: [frontend({ ip: ip(address) })],
    ...overrides,
  })
}

/** Owners of the objects that were refused. */
export function ownersOf(
  mode: IptablesMode,
  failed: ReadonlyMap<Parameters<IptablesMode['program']['ownersOf']>[0], unknown>,
): ReadonlySet<string> {
  return new Set([...failed.keys()].flatMap((key) => mode.program.ownersOf(key)))
}
