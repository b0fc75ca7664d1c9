import type { PacketState } from './packet-state.ts'

/** One step of the packet's path, described for people. */
export interface Step {
  /** The place, such as `iptables nat PREROUTING`, `nft ip node-proxy nat-prerouting` or `route`. */
  readonly where: string
  /** The rule, element or virtual server that decided, as the program that manages it lists it. */
  readonly object?: string
  /** What happened, in one line. */
  readonly text: string
  /** Packets and bytes that the object has counted so far. */
  readonly counter?: { readonly packets: bigint; readonly bytes: bigint }
  /** Seconds until what decided here expires, for example the kernel's entry of a client with session affinity. */
  readonly secondsLeft?: number
}

/**
 * The decision of a rule, a chain or a hook function. `continue`: no decision yet. `accept` ends one hook function,
 * but not the others of the hook. `taken`: the packet leaves the hook and is sent to its new destination as if by a
 * process of this node (IPVS). `uncertain`: something unknown may decide otherwise.
 */
export type Verdict =
  | { readonly kind: 'continue' | 'accept' | 'taken' }
  | { readonly kind: 'drop'; readonly reason?: string }
  /** `how` is what the sender gets: `tcp-reset`, `icmp-port-unreachable`. */
  | { readonly kind: 'reject'; readonly how: string }
  | { readonly kind: 'uncertain'; readonly reason: string }

export const CONTINUE: Verdict = Object.freeze({ kind: 'continue' })
export const ACCEPT: Verdict = Object.freeze({ kind: 'accept' })

/** One possible path of a packet up to some point; the probabilities of all branches sum to 1. */
export interface Branch {
  /** 0 to 1. */
  readonly probability: number
  readonly packet: PacketState
  readonly verdict: Verdict
  readonly steps: readonly Step[]
}

/** The branch of a result that is certain: there is no other. */
export function branchOf(
  packet: PacketState,
  verdict: Verdict = CONTINUE,
  steps: readonly Step[] = [],
): Branch {
  return { probability: 1, packet, verdict, steps }
}

/** Applies `next` to the packet of a branch: probabilities are multiplied, steps appended. */
export function extend(
  branch: Branch,
  next: (packet: PacketState) => readonly Branch[],
): readonly Branch[] {
  return next(branch.packet).map((one) => ({
    ...one,
    probability: branch.probability * one.probability,
    steps: one.steps.length === 0 ? branch.steps : [...branch.steps, ...one.steps],
  }))
}

/**
 * Adds the probabilities of branches with equal packet and verdict, so that random choices without effect do not
 * multiply the branches; the steps are those of the most likely one. Branches with probability 0 are left out.
 */
export function mergeBranches(branches: readonly Branch[]): readonly Branch[] {
  if (branches.length < 2) return branches
  const merged = new Map<string, Branch>()
  for (const branch of branches) {
    if (branch.probability === 0) continue
    const key = JSON.stringify([branch.verdict, branch.packet])
    const other = merged.get(key)
    merged.set(key, other === undefined ? branch : join(other, branch))
  }
  return [...merged.values()]
}

function join(one: Branch, other: Branch): Branch {
  const likelier = other.probability > one.probability ? other : one
  return { ...likelier, probability: one.probability + other.probability }
}
