import { type Clock, sleep } from '../../lib/clock.ts'
import { messageOf } from '../../lib/error.ts'
import { type Family, familyOf, type IpAddress } from '../../lib/ip.ts'
import { Mutex } from '../../lib/mutex.ts'
import type { Nftables } from '../nftables/nftables.ts'
import type { Command, SetSpec, Table } from '../nftables/objects.ts'
import { address } from '../nftables/rules/encode.ts'
import { bits, destinationAddress, TCP_FLAGS } from '../nftables/rules/fields.ts'
import { hasState, IS_MIDDLE_OF_TCP, isProtocol, STATE } from '../nftables/rules/matches.ts'
import {
  compare,
  copyTo,
  isIn,
  jump,
  rule,
  type Statement,
  verdict,
} from '../nftables/rules/statements.ts'

/** One table in each IP family that needs it, while it needs it; it goes with the process. */
export const TABLE = 'node-proxy-former-nodes'
const MAP = 'former-nodes'
/** The first one is called by the kernel, and finds out what belongs to no connection of this node. */
const CHAIN = { unknown: 'unknown', passOn: 'pass-on' } as const
/** After connection tracking (-200) and before translation (-100). */
const HOOK = { type: 'filter', hook: 'prerouting', priority: -150 } as const
const FAMILIES = [4, 6] as const
const FIN_OR_RST = Buffer.from([0x05])
/**
 * Milliseconds for which packets are still passed on after this node gave an address up: until the network knows the node
 * that has it now. What neither node knows may go back and forth meanwhile, until its hop limit is used up.
 */
const GIVEN_UP_MS = 2_000

/** What `FormerNodes` uses. */
export interface FormerNodesParts {
  readonly openNftables: () => Nftables
  readonly clock: Pick<Clock, 'after'>
  /** Called when the kernel refuses for another reason than before: then connections under way break. */
  readonly onRefused: (cause: string) => void
}

/** The node that had an address before, by the address. */
type Former = ReadonlyMap<IpAddress, IpAddress>

/**
 * Keeps TCP connections alive that were under way when an address moved to this node: their packets come here now, but
 * only the node that had the address before knows to which endpoint they belong. A packet to such an address that is
 * not the first of a connection, and of a connection that this node does not know, is sent on to that node as it is;
 * this node tracks nothing of it. Replies do not come this way. What belongs to no connection there, either, is
 * answered by its endpoint with a reset, as it would be here.
 */
export class FormerNodes {
  readonly #parts: FormerNodesParts
  readonly #mutex = new Mutex()
  #nftables: Nftables | undefined
  #wanted: Former = new Map()
  /** Addresses that this node gave up a moment ago, each with its former node and what cancels its removal. */
  readonly #givenUp = new Map<
    IpAddress,
    { readonly node: IpAddress; readonly cancel: () => void }
  >()
  /** What the kernel has. */
  #present: Former = new Map()
  #failure: string | undefined

  constructor(parts: FormerNodesParts) {
    this.#parts = parts
  }

  /**
   * Replaces the addresses of this node, each with an address of the same family of the node that had it before.
   * Resolves when the kernel has them, or refused.
   */
  async use(former: Former): Promise<void> {
    for (const [ip, node] of this.#wanted) if (!former.has(ip)) this.#giveUp(ip, node)
    for (const ip of former.keys()) {
      this.#givenUp.get(ip)?.cancel()
      this.#givenUp.delete(ip)
    }
    this.#wanted = former
    await this.#mutex.run(() => this.#update())
  }

  /** Removes everything, a moment later if packets are passed on. */
  async close(): Promise<void> {
    await this.use(new Map())
    if (this.#givenUp.size > 0) await sleep(this.#parts.clock, GIVEN_UP_MS)
    await this.#mutex.run(async () => this.#end())
  }

  #giveUp(ip: IpAddress, node: IpAddress): void {
    const cancel = this.#parts.clock.after(GIVEN_UP_MS, () => {
      this.#givenUp.delete(ip)
      void this.#mutex.run(() => this.#update())
    })
    this.#givenUp.set(ip, { node, cancel })
  }

  async #update(): Promise<void> {
    const givenUp = [...this.#givenUp].map(([ip, { node }]) => [ip, node] as const)
    const [before, after] = [this.#present, new Map([...givenUp, ...this.#wanted])]
    const commands = FAMILIES.flatMap((family) =>
      commandsOf(family, ofFamily(before, family), ofFamily(after, family)),
    )
    if (commands.length === 0) return
    const failure = await this.#commit(commands)
    if (failure === undefined) {
      this.#present = after
      if (after.size === 0) this.#end()
    } else {
      this.#end()
      if (failure !== this.#failure) this.#parts.onRefused(failure)
    }
    this.#failure = failure
  }

  /** Resolves to why it failed; undefined if it did not. */
  async #commit(commands: readonly Command[]): Promise<string | undefined> {
    try {
      this.#nftables ??= this.#parts.openNftables()
      return (await this.#nftables.commit(commands))?.message
    } catch (error) {
      return messageOf(error)
    }
  }

  /** The tables go with their socket. */
  #end(): void {
    this.#nftables?.close()
    this.#nftables = undefined
    this.#present = new Map()
  }
}

function ofFamily(former: Former, family: Family): Former {
  return new Map([...former].filter(([ip]) => familyOf(ip) === family))
}

/** The commands that change `before` into `after`, for one transaction. */
function commandsOf(family: Family, before: Former, after: Former): readonly Command[] {
  const table = { family, name: TABLE }
  const gone = [...before].filter(([ip, node]) => after.get(ip) !== node)
  const added = [...after].filter(([ip, node]) => before.get(ip) !== node)
  if (gone.length === 0 && added.length === 0) return []
  if (after.size === 0) return [{ do: 'deleteTable', table }]
  const elements = (entries: typeof gone) =>
    entries.map(([ip, node]) => ({ key: address(ip), data: address(node) }))
  const within = { table, set: MAP }
  return [
    ...(before.size === 0 ? tableCommands(table) : []),
    ...(gone.length === 0
      ? []
      : [{ do: 'deleteElements', ...within, elements: elements(gone) } as const]),
    ...(added.length === 0
      ? []
      : [{ do: 'addElements', ...within, elements: elements(added) } as const]),
  ]
}

function tableCommands(table: Table): readonly Command[] {
  const { family } = table
  const type = family === 4 ? 'ipv4_addr' : 'ipv6_addr'
  const spec: SetSpec = { key: [type], data: [type] }
  const destination = destinationAddress(family)
  const toPassOn = jump(CHAIN.passOn)
  const rules = {
    [CHAIN.unknown]: [
      rule(IS_MIDDLE_OF_TCP, toPassOn),
      // A packet that ends an unknown connection begins none, and so it is invalid. Others that are invalid belong to
      // connections of this node: the former node would have its endpoint reset them.
      rule(isProtocol('TCP'), hasState(STATE.invalid), hasFlag(FIN_OR_RST), toPassOn),
    ],
    [CHAIN.passOn]: [rule(copyTo(MAP, destination)), rule(isIn(MAP, destination), verdict('drop'))],
  }
  return [
    { do: 'addTable', table, spec: { isOwned: true } },
    { do: 'addSet', table, set: MAP, spec },
    { do: 'addChain', table, chain: CHAIN.passOn },
    { do: 'addChain', table, chain: CHAIN.unknown, spec: { hook: HOOK } },
    ...Object.entries(rules).flatMap(([chain, all]) =>
      all.map((one) => ({ do: 'addRule', table, chain, rule: one }) as const),
    ),
  ]
}

const NO_FLAGS = Buffer.from([0])

function hasFlag(flags: Buffer): Statement {
  return compare(bits(TCP_FLAGS, flags), 'different', NO_FLAGS)
}
