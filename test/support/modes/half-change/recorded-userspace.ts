import type { EntryId, ForwardingEntry } from '../../../../src/forwarding/entry.ts'
import { memberText, type SetCommand, type Sets } from '../../../../src/kernel/ipset/sets.ts'
import { socketAddress } from '../../../../src/kernel/sockets/socket-address.ts'
import { cidrContains } from '../../../../src/lib/ip.ts'
import type { KernelError } from '../../../../src/modes/mode.ts'
import type { NetfilterSettings } from '../../../../src/modes/netfilter/settings/settings.ts'
import { ip, settings } from '../../../../src/modes/testing/mode-fixtures.ts'
import { ForwarderState } from '../../../../src/modes/userspace/forwarder-state.ts'
import { UserspaceMode } from '../../../../src/modes/userspace/mode.ts'
import type { Route, Side } from '../../../../src/modes/userspace/route.ts'
import { FakeForwarder } from '../../../../src/modes/userspace/testing/fake-forwarder.ts'
import { RouteTable } from '../../../../src/modes/userspace/worker/route-table.ts'
import { driveMode } from '../drive-mode.ts'
import { fakeRedirectKernel, redirected } from '../fake-userspace-node.ts'
import { type Addresses, type Packet, podsOf } from './some-service.ts'
import { RecordedIptables, type XtablesState } from './xtables-states.ts'

const SIDES = ['pods', 'others'] as const

export interface RecordedSet {
  readonly type: string
  readonly members: readonly string[]
}

/** The state of kernel and forwarder at one moment. */
export interface UserspaceState {
  readonly tables: XtablesState
  readonly sets: ReadonlyMap<string, RecordedSet>
  /** What a worker does with a client, by `clientOf`: the backends that the client may get, or `rejected`. */
  readonly served: ReadonlyMap<string, readonly string[]>
}

/** The key by which a worker knows a client. */
export function clientOf({ from, to, port }: Packet, side: Side): string {
  return `${from} ${to} ${port} ${side}`
}

/** The addresses of a node, and what the mode knows of it. */
export interface UserspaceNode {
  readonly at: Addresses
  readonly packets: readonly Packet[]
  readonly netfilter?: Partial<NetfilterSettings>
}

/** The userspace mode over a fake kernel and forwarder, and the states between the steps of its changes. */
export class RecordedUserspace {
  readonly mode: UserspaceMode
  readonly sync: (...entries: readonly ForwardingEntry[]) => ReturnType<UserspaceMode['apply']>
  readonly states: UserspaceState[] = []
  readonly #packets: readonly Packet[]
  readonly #tables: RecordedIptables
  readonly #routeTable = new RouteTable({
    drainMs: 0,
    random: { uuid: () => '', below: () => 0 },
  })
  #sets = new Map<string, RecordedSet>()
  #served: UserspaceState['served'] = new Map()

  constructor({ at, packets, netfilter }: UserspaceNode) {
    const kernel = fakeRedirectKernel()
    this.#packets = packets
    this.#tables = new RecordedIptables(kernel.iptables, at.family)
    const given = redirected({
      nodeAddresses: [ip(at.node)],
      netfilter: settings({ localTraffic: podsOf(at), families: [at.family], ...netfilter }),
    })
    const forwarder = new RecordedForwarder((changes) => this.#serve(changes))
    this.mode = new UserspaceMode(given, {
      forwarderState: new ForwarderState(forwarder),
      kernel: {
        ...kernel,
        sets: this.#recorded(kernel.sets),
        iptables: {
          ...this.#tables.iptables,
          restore: async (...args) => {
            const result = await this.#tables.iptables.restore(...args)
            this.record()
            return result
          },
        },
      },
    })
    this.sync = driveMode(this.mode).sync
  }

  /** Records the present state. */
  record(): void {
    const tables = this.#tables.states.at(-1)
    if (tables === undefined) return
    this.states.push({ tables, sets: this.#sets, served: this.#served })
  }

  /** Runs one command after the other, as the kernel does. */
  #recorded(sets: Sets): Sets {
    return {
      names: (prefix) => sets.names(prefix),
      headers: (prefix) => sets.headers(prefix),
      members: (name) => sets.members(name),
      protocolVersion: () => sets.protocolVersion(),
      close: () => sets.close(),
      run: async (commands) => {
        const refused = []
        for (const [index, command] of commands.entries()) {
          const refusals = await sets.run([command])
          refused.push(...refusals.map((one) => ({ ...one, index })))
          await this.#took(command, sets)
        }
        return refused
      },
    }
  }

  async #took({ name }: SetCommand, sets: Sets): Promise<void> {
    const members = await sets.members(name)
    const type = (await sets.headers(name)).get(name)?.type ?? ''
    this.#sets = new Map(this.#sets).set(name, { type, members: members?.map(memberText) ?? [] })
    this.record()
  }

  #serve(changes: ReadonlyMap<EntryId, Route | undefined>): void {
    for (const [id, route] of changes) this.#routeTable.replace(id, route, 0)
    this.#served = new Map(
      this.#packets.flatMap((packet) =>
        SIDES.map((side) => [clientOf(packet, side), this.#endsOf(packet, side)] as const),
      ),
    )
    this.record()
  }

  #endsOf({ from, to, port }: Packet, side: Side): readonly string[] {
    const match = this.#routeTable.find('TCP', socketAddress(to, port))
    if (match === undefined) return ['rejected']
    const { sourceRanges, pools } = match.listener
    if (sourceRanges?.some((range) => cidrContains(range, from)) === false) return ['rejected']
    const pool = [...match.served.pool(pools[side]).values()]
    return pool.length === 0
      ? ['rejected']
      : pool.map((one) => `${one.backend.ip}:${one.backend.port}`)
  }
}

class RecordedForwarder extends FakeForwarder {
  readonly #serve: (changes: ReadonlyMap<EntryId, Route | undefined>) => void

  constructor(serve: (changes: ReadonlyMap<EntryId, Route | undefined>) => void) {
    super()
    this.#serve = serve
  }

  override async apply(
    changes: ReadonlyMap<EntryId, Route | undefined>,
  ): Promise<ReadonlyMap<EntryId, KernelError>> {
    const refused = await super.apply(changes)
    this.#serve(changes)
    return refused
  }
}
