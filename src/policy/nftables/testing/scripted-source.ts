import type { FlowEnds } from '../../../kernel/conntrack/conntrack.ts'
import type { IpAddress } from '../../../lib/ip.ts'
import type {
  ChainName,
  PolicyChanges,
  PolicyContent,
  PolicySet,
  SetName,
} from '../../policy-content.ts'
import type { PolicySource } from '../enforcer.ts'

export const EMPTY: PolicyContent = {
  sets: new Map(),
  policyChains: new Map(),
  tierChains: new Map(),
  denyChains: new Map(),
  podChains: new Map(),
  pods: { ingress: new Map(), egress: new Map() },
  localRanges: [],
}

/** A model whose events are whole contents; it finds the changes by comparing them. */
export class ScriptedSource implements PolicySource<PolicyContent> {
  content: PolicyContent
  /** What `takeChanges` says of the next changes. */
  isNarrower = true
  #taken: PolicyContent
  readonly #admits: (content: PolicyContent, flow: FlowEnds) => boolean

  constructor(
    content = EMPTY,
    admits: (content: PolicyContent, flow: FlowEnds) => boolean = () => true,
  ) {
    this.content = content
    this.#taken = EMPTY
    this.#admits = admits
  }

  apply(events: readonly PolicyContent[]): void {
    this.content = events.at(-1) ?? this.content
  }

  takeChanges(): PolicyChanges {
    const [before, after] = [this.#taken, this.content]
    this.#taken = after
    const sets = namesIn(before.sets, after.sets)
    const chains = (['policyChains', 'tierChains', 'denyChains', 'podChains'] as const).flatMap(
      (kind) => changedKeys<ChainName>(before[kind], after[kind]),
    )
    return {
      sets: new Set(sets.filter((name) => before.sets.has(name) !== after.sets.has(name))),
      members: membersOf(before.sets, after.sets),
      chains: new Set(chains),
      pods: {
        ingress: new Set(changedKeys(before.pods.ingress, after.pods.ingress)),
        egress: new Set(changedKeys(before.pods.egress, after.pods.egress)),
      },
      hasLocalRanges: before.localRanges.join() !== after.localRanges.join(),
      isNarrower: this.isNarrower,
    }
  }

  admits(flow: FlowEnds): boolean {
    return this.#admits(this.content, flow)
  }
}

function namesIn<K>(before: ReadonlyMap<K, unknown>, after: ReadonlyMap<K, unknown>): readonly K[] {
  return [...new Set([...before.keys(), ...after.keys()])]
}

function changedKeys<K>(
  before: ReadonlyMap<K, unknown>,
  after: ReadonlyMap<K, unknown>,
): readonly K[] {
  const text = (value: unknown) => JSON.stringify(value)
  return namesIn(before, after).filter((key) => text(before.get(key)) !== text(after.get(key)))
}

function membersOf(
  before: ReadonlyMap<SetName, PolicySet>,
  after: ReadonlyMap<SetName, PolicySet>,
): ReadonlyMap<SetName, ReadonlySet<string>> {
  const members = new Map<SetName, ReadonlySet<string>>()
  for (const [name, set] of after) {
    const [old, now] = [before.get(name), set].map(keysOf)
    if (old === undefined || now === undefined) continue
    const changed = old.symmetricDifference(now)
    if (changed.size > 0) members.set(name, changed)
  }
  return members
}

function keysOf(set: PolicySet | undefined): ReadonlySet<string> | undefined {
  if (set === undefined || set.kind === 'blocks') return undefined
  return new Set<string>(set.members.keys() as Iterable<string | IpAddress>)
}
