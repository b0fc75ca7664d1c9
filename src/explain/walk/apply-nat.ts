import { type Branch, branchOf, CONTINUE, extend, type Step } from '../packet/branch.ts'
import type { HookFunction } from '../packet/hook-function.ts'
import type { Endpoint, Hook, PacketState } from '../packet/packet-state.ts'
import type { Translation } from '../packet/translate.ts'

/**
 * Address translation at a hook: for a new connection the nat functions by priority until one decides; without one the
 * packet keeps its addresses, which is a decision too. A known connection repeats its translation.
 */
export function applyNat(
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
