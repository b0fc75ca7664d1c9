import type { WalkFacts, WalkOutcomeFacts } from '../../../doctor/evidence/node-facts.ts'
import type { WalkOutcome } from '../../../explain/walk/walk-outcome.ts'
import { type WalkWorld, walkPacket } from '../../../explain/walk/walk-packet.ts'
import type { InspectionClient } from '../../../inspection/client/inspection-client.ts'
import { familyOf, hostPort } from '../../../lib/ip.ts'
import { isOwnRule } from '../kernel/own-rules.ts'
import type { Probe } from './probe.ts'

/** Milliseconds after which no further packet is followed. */
const BUDGET_MS = 20_000
/** Outcomes of a packet that are kept, the likeliest first. */
const MAX_OUTCOMES = 20

/** What answers about packets. */
export interface Answerers {
  readonly world: WalkWorld
  readonly client: Pick<InspectionClient, 'explain'>
  /** Milliseconds. */
  readonly now: () => number
}

/** Follows packets through what the kernel holds, beside what node-proxy wants of them. */
export async function walkProbes(
  probes: readonly Probe[],
  { world, client, now }: Answerers,
): Promise<readonly WalkFacts[]> {
  const end = now() + BUDGET_MS
  const walks: WalkFacts[] = []
  for (const probe of probes) {
    if (now() > end) break
    const desired = probe.to === undefined ? '' : await desiredOf(probe, client)
    walks.push(factsOf(probe, desired, await walkPacket(world, startOf(probe))))
  }
  return walks
}

function startOf({ source, dst, port, protocol }: Probe) {
  const { src, inInterface } = source ?? { src: undefined, inInterface: undefined }
  return {
    ...{
      family: familyOf(dst),
      protocol,
      src,
      srcPort: undefined,
      dst,
      dstPort: port,
      inInterface,
    },
  }
}

async function desiredOf(
  { source, dst, port, protocol }: Probe,
  client: Answerers['client'],
): Promise<string> {
  const { src = '', inInterface = '' } = source ?? {}
  const { outcome } = await client.explain({ src, dst, port, protocol, inInterface, service: '' })
  return outcome
}

function factsOf(probe: Probe, desired: string, outcomes: readonly WalkOutcome[]): WalkFacts {
  const { purpose, to, source, dst, port, protocol } = probe
  return {
    ...{ purpose, dst, port, protocol, desired },
    ...{ entry: to?.entry.id ?? '', service: to?.entry.service ?? '' },
    ...{ frontend: to?.frontend.kind ?? '', sourceRanges: to?.frontend.sourceRanges ?? [] },
    ...{ src: source?.src ?? '', inInterface: source?.inInterface ?? '' },
    outcomes: outcomes.slice(0, MAX_OUTCOMES).map(outcomeOf),
  }
}

function outcomeOf(outcome: WalkOutcome): WalkOutcomeFacts {
  const last = outcome.steps.at(-1)
  const { where = '', object = '', counter } = outcome.kind === 'delivered' ? {} : (last ?? {})
  return {
    ...{ kind: outcome.kind, share: outcome.probability, where, rule: object },
    text: textOf(outcome),
    packets: counter === undefined ? -1 : Number(counter.packets),
    isOwn: isOwnRule(where, object),
  }
}

function textOf(outcome: WalkOutcome): string {
  if (outcome.kind === 'delivered') return hostPort(outcome.dst.ip, outcome.dst.port ?? 0)
  if (outcome.kind === 'refused') return outcome.how
  return outcome.kind === 'silent' ? outcome.by : outcome.reason
}
