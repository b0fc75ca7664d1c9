import fc from 'fast-check'
import type { EntryId, ForwardingEntry } from '../../../src/forwarding/entry.ts'
import { markOf, markPattern } from '../../../src/modes/ipvs/objects/short-circuit-mark.ts'
import {
  AFFINITIES,
  backend,
  cidr,
  entry,
  frontend,
  ip,
  settings,
} from '../../../src/modes/testing/mode-fixtures.ts'

/** An entry that is added or changed, or (undefined) removed. */
export interface EntryChange {
  readonly id: EntryId
  readonly entry: ForwardingEntry | undefined
}

/** Two ids whose first choice is the same mark, the smaller one first. */
export function rivals(): readonly [EntryId, EntryId] {
  const pattern = markPattern(settings())
  const byMark = new Map<number, EntryId>()
  for (let n = 0; ; n++) {
    const one = `shop/s${n}:http/TCP/4` as EntryId
    const mark = markOf(one, 0, pattern)
    const other = byMark.get(mark)
    if (other !== undefined) return one < other ? [one, other] : [other, one]
    byMark.set(mark, one)
  }
}

const external = { kind: 'externalIP', masquerade: 'always' } as const
const local = { ...external, pool: 'local', shortCircuit: true, masquerade: 'onNode' } as const
const others = ['shop/c:http/TCP/4', 'shop/d:http/UDP/4', 'shop/e:http/TCP/6'] as EntryId[]

const shape = fc.record({
  id: fc.constantFrom(...rivals(), ...others),
  isGone: fc.boolean(),
  vip: fc.constantFrom('5.0.0.1', '5.0.0.2', '192.0.2.10'),
  port: fc.constantFrom(80, 30_080),
  isLocal: fc.boolean(),
  isNodePort: fc.boolean(),
  isRanged: fc.boolean(),
  affinity: fc.constantFrom(...AFFINITIES),
  scheduler: fc.constantFrom(undefined, undefined, 'wlc', 'dh', 'missing'),
  cluster: fc.nat(2),
  here: fc.nat(1),
  hasHealthCheck: fc.boolean(),
})
type Shape = typeof shape extends fc.Arbitrary<infer T> ? T : never

/**
 * A few entries of every form, which compete for the same few addresses, ports and marks.
 */
export const someChange: fc.Arbitrary<EntryChange> = shape.map((one) => {
  return { id: one.id, entry: one.isGone ? undefined : entryOf(one) }
})

function entryOf(one: Shape): ForwardingEntry {
  const [protocol, family] = one.id.split('/').slice(-2)
  const six = family === '6'
  const path = one.isLocal ? local : external
  const vip = ip(six ? `fd00::${one.vip.replaceAll('.', ':')}` : one.vip)
  const sourceRanges = one.isRanged ? [cidr(six ? '::/0' : '0.0.0.0/0')] : undefined
  const pods = (count: number) =>
    Array.from({ length: count }, (_, n) =>
      backend(six ? `fd00:10::${n + 1}` : `10.180.0.${n + 1}`),
    )
  return entry({
    id: one.id,
    scheduler: one.scheduler,
    family: six ? 6 : 4,
    protocol: protocol === 'UDP' ? 'UDP' : 'TCP',
    frontends: [
      frontend({ ...path, ip: vip, port: one.port, sourceRanges }),
      ...(one.isNodePort
        ? [frontend({ ...path, kind: 'nodePort', ip: 'node', port: 30_080 })]
        : []),
    ],
    pools: { cluster: pods(one.cluster), local: pods(Math.min(one.here, one.cluster)) },
    affinity: one.affinity,
    ...(one.hasHealthCheck ? { healthCheckPort: 32_000 } : {}),
  })
}
