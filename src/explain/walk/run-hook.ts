import {
  type Branch,
  branchOf,
  CONTINUE,
  extend,
  mergeBranches,
  type Step,
} from '../packet/branch.ts'
import type { HookFunction } from '../packet/hook-function.ts'
import type { Endpoint, Hook, PacketState, Translation } from '../packet/packet-state.ts'

/**
 * The priority at which connection tracking runs the nat functions of a hook (NF_IP_PRI_NAT_DST, NF_IP_PRI_NAT_SRC).
 */
const NAT_PRIORITY: Readonly<Record<Hook, number | undefined>> = {
  prerouting: -100,
  output: -100,
  input: 100,
  postrouting: 100,
  forward: undefined,
}

/** A branch that has left a hook. */
export interface HookResult {
  readonly branch: Branch
  /** Whether a field has changed that the route depends on. */
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
    hook,
    families: [4, 6],
    priority,
    isNat: true,
    source: 'conntrack',
    apply: (packet) => applyNat(nat, hook, packet),
  }
  return [...here.filter(({ isNat }) => !isNat), group].toSorted((a, b) => a.priority - b.priority)
}

/**
 * Address translation at a hook: for a new connection the nat functions run by priority until one decides. If none
 * decides, the packet keeps its addresses, which counts as a decision, too. A known connection repeats its
 * translation.
 */
function applyNat(
  functions: readonly HookFunction[],
  hook: Hook,
  packet: PacketState,
): readonly Branch[] {
  const { status } = packet.connection
  if (status === 'untracked') return [branchOf(packet)]
  const translation = hook === 'prerouting' || hook === 'output' ? 'destination' : 'source'
  if (status === 'established') return [repeat(packet, translation)]
  if (packet.connection.decided[translation]) return [branchOf(packet)]
  let branches: readonly Branch[] = [branchOf(packet)]
  for (const one of functions) {
    branches = branches.flatMap((branch) =>
      isOpen(branch, translation) ? extend(branch, (now) => one.apply(now)) : [branch],
    )
  }
  return branches.map((branch) => ({ ...branch, packet: decide(branch.packet, translation) }))
}

function isOpen({ verdict, packet }: Branch, translation: Translation): boolean {
  const goesOn = verdict.kind === 'continue' || verdict.kind === 'accept'
  return goesOn && !packet.connection.decided[translation]
}

function decide(packet: PacketState, translation: Translation): PacketState {
  const { connection } = packet
  const decided = { ...connection.decided, [translation]: true }
  return { ...packet, connection: { ...connection, decided } }
}

function repeat(packet: PacketState, translation: Translation): Branch {
  const { dnat, snat } = packet.connection
  const to = translation === 'destination' ? dnat : snat
  if (to === undefined) return branchOf(packet)
  const moved: PacketState =
    translation === 'destination'
      ? { ...packet, dst: to.ip, dstPort: to.port ?? packet.dstPort }
      : { ...packet, src: to.ip, srcPort: to.port }
  return branchOf(moved, CONTINUE, [stepOf(to, translation)])
}

function stepOf({ ip, port }: Endpoint, translation: Translation): Step {
  const text = `the connection is known: its ${translation} becomes ${ip}`
  return { where: 'conntrack', text: port === undefined ? text : `${text} port ${port}` }
}
