import { FakeNamespace } from '../../../src/kernel/nftables/testing/fake-namespace.ts'
import { FakeNftables } from '../../../src/kernel/nftables/testing/fake-nftables.ts'
import { FakeObjectMonitor } from '../../../src/kernel/nftables/testing/fake-object-monitor.ts'
import { FakeClock } from '../../../src/lib/testing/fake-clock.ts'
import type { ForeignChange, ObjectKey } from '../../../src/modes/mode.ts'
import type { NetfilterSettings } from '../../../src/modes/netfilter/settings/settings.ts'
import { isFilledByPackets, TABLE } from '../../../src/modes/nftables/keys/names.ts'
import { NftablesMode } from '../../../src/modes/nftables/mode.ts'
import { settings } from '../../../src/modes/testing/mode-fixtures.ts'
import { driveMode } from './drive-mode.ts'

interface NodeOptions {
  readonly clock?: FakeClock
  /** The kernel that an earlier daemon left. */
  readonly namespace?: FakeNamespace
  readonly settings?: Partial<NetfilterSettings>
}

/** The nftables mode over a fake kernel, with everything between an entry and that kernel. */
export function fakeNftablesNode(options: NodeOptions = {}) {
  const clock = options.clock ?? new FakeClock()
  const namespace = options.namespace ?? new FakeNamespace(clock)
  const nftables = new FakeNftables(namespace)
  const monitor = new FakeObjectMonitor(namespace, { table: TABLE, exceptPort: nftables.port })
  const mode = new NftablesMode(settings(options.settings), { nftables, monitor })
  const driven = driveMode(mode)
  const reported: ForeignChange[] = []
  const stopWatching = mode.watch((change) => reported.push(change))
  const look = async (keys?: readonly ObjectKey[]) =>
    driven.tracker.saw(await mode.observe(keys), keys)
  return {
    clock,
    namespace,
    nftables,
    monitor,
    mode,
    reported,
    ...driven,
    /** Reads these objects, by default all; returns what differs from the known state. */
    look,
    /** Reads what was reported since the last call, and writes what differs from the wanted state. */
    async repair() {
      const changes = reported.splice(0)
      if (changes.length === 0) return undefined
      const isAll = changes.some(({ keys }) => keys === 'all')
      const keys = changes.flatMap((change) => (change.keys === 'all' ? [] : change.keys))
      await look(isAll ? undefined : [...new Set(keys)])
      return driven.write()
    },
    /** Ends this daemon: its socket is closed. */
    stop() {
      stopWatching()
      nftables.close()
    },
  }
}

export type FakeNftablesNode = ReturnType<typeof fakeNftablesNode>

/** The whole state of a kernel, without the clients that it remembers because of packets. */
export function stateOf(namespace: FakeNamespace): readonly string[] {
  return namespace.dump((set) => !isFilledByPackets(set))
}
