import fc from 'fast-check'
import type { EntryId, ForwardingEntry, Frontend } from '../../../../src/forwarding/entry.ts'
import type { Family } from '../../../../src/lib/ip.ts'
import {
  AFFINITIES,
  backend,
  cidr,
  entry,
  frontend,
  ip,
} from '../../../../src/modes/testing/mode-fixtures.ts'

export type ForeignKind = (typeof FOREIGN)[number]

/** What another program does; `pick`: to which of the existing objects. */
export interface ForeignStep {
  readonly kind: ForeignKind
  readonly pick: number
}

/** One event in the life of a daemon in this mode. */
export type HistoryStep =
  | { readonly do: 'entries'; readonly entries: readonly EntryStep[] }
  /** So many entries come or go that notifications are lost. */
  | { readonly do: 'crowd'; readonly isGone: boolean }
  | { readonly do: 'foreign'; readonly given: ForeignStep }
  /** Another program acts between the daemon's reading and its writing. */
  | { readonly do: 'meanwhile'; readonly given: ForeignStep }
  | { readonly do: 'fail'; readonly failure: (typeof FAILURES)[number] }
  /** Packets of clients with affinity, to each backend that may be remembered. */
  | { readonly do: 'clients' }
  | { readonly do: 'pass'; readonly seconds: number }
  | { readonly do: 'restart' }

/** An entry that is added or changed, or (undefined) removed. */
export interface EntryStep {
  readonly id: EntryId
  readonly entry: ForwardingEntry | undefined
}

const FOREIGN = [
  ...(['deleteElement', 'changeElement', 'addElement', 'deleteElements', 'flushSet'] as const),
  ...(['flushChain', 'deleteRule', 'insertRule', 'addChain', 'deleteChain'] as const),
  ...(['addSet', 'deleteSet', 'otherSet', 'otherChain', 'flushTable'] as const),
  ...(['deleteTable', 'flushRuleset', 'otherTable'] as const),
] as const

const FAILURES = [
  ...(['EPERM', 'ENOMEM', 'EEXIST', 'ENOENT', 'lost', 'lostApplied', 'silence'] as const),
  ...(['elements', 'rules', 'unnamed'] as const),
] as const

const entryStep: fc.Arbitrary<EntryStep> = fc
  .record({
    name: fc.nat(5),
    family: fc.constantFrom<Family>(4, 6),
    protocol: fc.constantFrom('TCP', 'TCP', 'UDP'),
    address: fc.nat(3),
    weights: fc.array(fc.nat(3), { maxLength: 3 }),
    first: fc.nat(2),
    isGone: fc.boolean(),
    isNodePort: fc.boolean(),
    isExternal: fc.boolean(),
    ranges: fc.constantFrom(undefined, undefined, ['/24'], ['/24', '/25'], ['/0'], []),
    isLocal: fc.boolean(),
    affinity: fc.constantFrom(...AFFINITIES),
    whenEmpty: fc.constantFrom('reject', 'drop'),
  })
  .map(entryOf)

type Given = Parameters<typeof entryOf>[0]

/** An entry with one of a few addresses, so that entries often claim the same one. */
function entryOf(given: {
  readonly name: number
  readonly family: Family
  readonly protocol: 'TCP' | 'UDP'
  readonly address: number
  readonly weights: readonly number[]
  readonly first: number
  readonly isGone: boolean
  readonly isNodePort: boolean
  readonly isExternal: boolean
  readonly ranges: readonly string[] | undefined
  readonly isLocal: boolean
  readonly affinity: ForwardingEntry['affinity']
  readonly whenEmpty: 'reject' | 'drop'
}): EntryStep {
  const { family, protocol, address, whenEmpty, first } = given
  const id = `shop/s${given.name}:http/${protocol}/${family}` as EntryId
  if (given.isGone) return { id, entry: undefined }
  const at = (v4: string, v6: string) => ip(family === 4 ? v4 : v6)
  const cluster = given.weights.map((weight, n) =>
    backend(at(`10.180.0.${first + n}`, `fd00:180::${first + n}`), { weight }),
  )
  const outside: Partial<Frontend> = given.isLocal
    ? { pool: 'local', shortCircuit: true, masquerade: 'onNode' }
    : { masquerade: 'always' }
  return {
    id,
    entry: entry({
      id,
      family,
      protocol,
      frontends: [
        frontend({ ip: at(`172.30.0.${address}`, `fd00:30::${address}`) }),
        ...(given.isExternal
          ? [
              frontend({
                ...outside,
                kind: 'loadBalancerIP',
                ip: at('192.0.2.9', 'fd00:9::9'),
                port: 80 + address,
                sourceRanges: rangesOf(given),
              }),
            ]
          : []),
        ...(given.isNodePort
          ? [frontend({ ...outside, kind: 'nodePort', ip: 'node', port: 30_000 + address })]
          : []),
      ],
      pools: { cluster, local: given.isLocal ? cluster.slice(0, 1) : [] },
      whenEmpty: { cluster: whenEmpty, local: 'drop' },
      affinity: given.affinity,
    }),
  }
}

function rangesOf({ ranges, family }: Given): Frontend['sourceRanges'] {
  const base = (length: string) => {
    if (length === '/0') return family === 4 ? '0.0.0.0/0' : '::/0'
    return family === 4 ? `192.0.2.0${length}` : `2001:db8::${length}`
  }
  return ranges?.map((length) => cidr(base(length)))
}

/** Entries of one frontend each. */
export function crowd(isGone: boolean): readonly EntryStep[] {
  return Array.from({ length: 120 }, (_, n): EntryStep => {
    const id = `crowd/s${n}:http/TCP/4` as EntryId
    if (isGone) return { id, entry: undefined }
    const frontends = [frontend({ ip: ip(`172.31.0.${n}`) })]
    return { id, entry: entry({ id, frontends, affinity: n < 4 ? { seconds: 60 } : undefined }) }
  })
}

const foreign = fc.record({ kind: fc.constantFrom(...FOREIGN), pick: fc.nat(1_000_000) })

const some: fc.Arbitrary<HistoryStep> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc
      .array(entryStep, { minLength: 1, maxLength: 4 })
      .map((entries) => ({ do: 'entries', entries }) as const),
  },
  { weight: 4, arbitrary: foreign.map((given) => ({ do: 'foreign', given }) as const) },
  { weight: 2, arbitrary: foreign.map((given) => ({ do: 'meanwhile', given }) as const) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(...FAILURES).map((failure) => ({ do: 'fail', failure }) as const),
  },
  { weight: 2, arbitrary: fc.constant({ do: 'clients' } as const) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(1, 55, 61).map((seconds) => ({ do: 'pass', seconds }) as const),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' } as const) },
)

const large: fc.Arbitrary<HistoryStep> = fc
  .boolean()
  .map((isGone) => ({ do: 'crowd', isGone }) as const)

/** Short histories, a few of them with a crowd. */
export const someHistory: fc.Arbitrary<readonly HistoryStep[]> = fc.oneof(
  { weight: 14, arbitrary: fc.array(some, { minLength: 1, maxLength: 10 }) },
  {
    weight: 1,
    arbitrary: fc
      .array(fc.oneof({ weight: 3, arbitrary: some }, { weight: 1, arbitrary: large }), {
        minLength: 2,
        maxLength: 10,
      })
      .map((steps) => [{ do: 'crowd', isGone: false } as const, ...steps]),
  },
)
