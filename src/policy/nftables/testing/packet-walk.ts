import type { Expression, Verdict } from '../../../kernel/nftables/expression.ts'
import { address } from '../../../kernel/nftables/rules/encode.ts'
import type { FakeNamespace } from '../../../kernel/nftables/testing/fake-namespace.ts'
import type { FakeTable } from '../../../kernel/nftables/testing/fake-table.ts'
import { familyOf } from '../../../lib/ip.ts'
import { tableOf } from '../render.ts'
import type { Packet } from './judge-packet.ts'

const NUMBERS = { TCP: 6, UDP: 17, SCTP: 132, ICMP: 1 } as const
const [SYN, ACK] = [0x02, 0x10]
const STATES = { established: 2, related: 4, new: 8 } as const
/** Types of addresses. */
const [UNICAST, LOCAL] = [1, 2]

/** Whether a packet passes the table that the kernel holds. */
export function passes(namespace: FakeNamespace, packet: Packet): boolean {
  const table = namespace.table(tableOf(familyOf(packet.source)))
  if (table === undefined) return true
  const hook = packet.way === 'forward' ? 'forward' : 'output'
  const called = [...table.chains].filter(([, { spec }]) => spec.hook?.hook === hook)
  return called
    .toSorted(([, a], [, b]) => (a.spec.hook?.priority ?? 0) - (b.spec.hook?.priority ?? 0))
    .every(([name]) => new Walk(table, packet).enter(name) !== 'drop')
}

class Walk {
  readonly #table: FakeTable
  readonly #packet: Packet
  readonly #registers = Buffer.alloc(64)

  constructor(table: FakeTable, packet: Packet) {
    this.#table = table
    this.#packet = packet
  }

  enter(chain: string): 'accept' | 'drop' | 'continue' {
    for (const { rule } of this.#table.chains.get(chain)?.rules ?? []) {
      const verdict = this.#rule(rule.expressions)
      if (verdict === undefined || verdict.kind === 'continue') continue
      if (verdict.kind === 'return') return 'continue'
      if (!('chain' in verdict)) return verdict.kind
      const end = this.enter(verdict.chain)
      if (verdict.kind === 'goto' || end !== 'continue') return end
    }
    return 'continue'
  }

  #rule(expressions: readonly Expression[]): Verdict | undefined {
    for (const one of expressions) {
      switch (one.type) {
        case 'payload':
          this.#load(one.to, this.#payload(one))
          break
        case 'meta':
          this.#load(one.to, Buffer.from([NUMBERS[this.#packet.protocol]]))
          break
        case 'ct':
          this.#load(one.to, Buffer.from([STATES[this.#packet.isTracked ?? 'new'], 0, 0, 0]))
          break
        case 'fib':
          this.#load(one.to, Buffer.from([this.#packet.way === 'node' ? LOCAL : UNICAST, 0, 0, 0]))
          break
        case 'bitwise': {
          const bytes = this.#bytes(one.from, one.mask.length)
          this.#load(one.to, Buffer.from(bytes.map((byte, at) => byte & one.mask[at]!)))
          break
        }
        case 'cmp':
          if (this.#bytes(one.from, one.value.length).equals(one.value) !== (one.is === 'equal'))
            return undefined
          break
        case 'lookup': {
          const set = this.#table.sets.get(one.set)
          const found = set?.store.match(this.#bytes(one.key, padded(set.keyLength)), 0)
          if (found === undefined) return undefined
          if (one.to === undefined) break
          return found.element.data as Verdict
        }
        case 'verdict':
          return one.verdict
        case 'reject':
          return { kind: 'drop' }
        case 'counter':
        case 'log':
          break
        case 'limit':
          // Some packets exceed it and others do not.
          if ((this.#packet.port % 2 === 1) !== (one.isOver === true)) return undefined
          break
        case 'duplicate':
        case 'dynamic':
        case 'foreign':
        case 'load':
        case 'masquerade':
        case 'nat':
        case 'random':
        case 'setMeta':
          throw new Error(`${one.type} is in no rule of policies`)
      }
    }
    return undefined
  }

  #payload({ base, offset, length }: Extract<Expression, { type: 'payload' }>): Buffer {
    const { source, destination, port, isMiddle } = this.#packet
    if (base === 'network') {
      const isSource = offset === (familyOf(source) === 4 ? 12 : 8)
      return address(isSource ? source : destination)
    }
    if (length === 1) return Buffer.from([isMiddle ? ACK : SYN])
    return Buffer.from([port >> 8, port & 0xff])
  }

  #bytes(register: number, length: number): Buffer {
    return Buffer.from(this.#registers.subarray((register - 8) * 4, (register - 8) * 4 + length))
  }

  #load(register: number, value: Buffer): void {
    const at = (register - 8) * 4
    this.#registers.fill(0, at, at + padded(value.length))
    value.copy(this.#registers, at)
  }
}

function padded(bytes: number): number {
  return (bytes + 3) & ~3
}
