import { type Branch, branchOf, extend } from '../packet/branch.ts'
import type { HookFunction } from '../packet/hook-function.ts'
import { mergeBranches } from '../packet/merge-branches.ts'
import type { Hook, PacketState } from '../packet/packet-state.ts'
import { applyNat } from './apply-nat.ts'

/** Where connection tracking runs the nat functions of a hook (NF_IP_PRI_NAT_DST, NF_IP_PRI_NAT_SRC). */
const NAT_PRIORITY: Readonly<Record<Hook, number | undefined>> = {
  prerouting: -100,
  output: -100,
  input: 100,
  postrouting: 100,
  forward: undefined,
}

/** A branch that left a hook. */
export interface HookResult {
  readonly branch: Branch
  /** Something changed of which the route depends. */
  readonly needsRoute: boolean
}

/** Runs the functions of a hook in the kernel's order; ends a branch at its first final verdict. */
export function runHook(
  functions: readonly HookFunction[],
  hook: Hook,
  packet: PacketState,
): readonly HookResult[] {
  let results: readonly HookResult[] = [{ branch: branchOf(packet), needsRoute: false }]
  for (const one of inOrder(functions, hook, packet)) {
    results = results.flatMap((result) => (passes(result.branch) ? runOne(one, result) : [result]))
  }
  return results.map(({ branch, needsRoute }) => ({
    branch,
    needsRoute: needsRoute || branch.packet.dst !== packet.dst || branch.packet.src !== packet.src,
  }))
}

/** Whether the packet goes on to the next function. */
export function passes({ verdict }: Branch): boolean {
  return verdict.kind === 'continue' || verdict.kind === 'accept'
}

function runOne(one: HookFunction, { branch, needsRoute }: HookResult): readonly HookResult[] {
  return mergeBranches(extend(branch, (packet) => one.apply(packet))).map((next) => ({
    branch: next,
    needsRoute:
      needsRoute || (one.reroutesMarks === true && next.packet.mark !== branch.packet.mark),
  }))
}

function inOrder(
  functions: readonly HookFunction[],
  hook: Hook,
  { family }: PacketState,
): readonly HookFunction[] {
  const here = functions
    .filter((one) => one.hook === hook && one.families.includes(family))
    .toSorted((a, b) => a.priority - b.priority)
  const priority = NAT_PRIORITY[hook]
  if (priority === undefined) return here
  const nat = here.filter(({ isNat }) => isNat)
  const group: HookFunction = {
    ...{ hook, families: [4, 6], priority, isNat: true },
    source: 'conntrack',
    apply: (packet) => applyNat(nat, hook, packet),
  }
  return [...here.filter(({ isNat }) => !isNat), group].toSorted((a, b) => a.priority - b.priority)
}
