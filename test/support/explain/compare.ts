import type { WalkOutcome } from '../../../src/explain/walk/walk-outcome.ts'
import { hostPort } from '../../../src/lib/ip.ts'
import type { ConnectOutcome } from '../agent/protocol.ts'

/** One line for what happened or was predicted; both are compared as sets of such lines. */
export function predicted(outcome: WalkOutcome): string {
  if (outcome.kind === 'refused') return 'refused'
  if (outcome.kind === 'silent') return 'silent'
  if (outcome.kind === 'uncertain') return `uncertain: ${outcome.reason}`
  return `${hostPort(outcome.dst.ip, outcome.dst.port ?? 0)} from ${outcome.src}`
}

/** The same of a connection. Sinks of the lab answer with a name of their own for `sink`. */
export function happened(outcome: ConnectOutcome, sink: string): string {
  if (outcome.kind === 'refused') return 'refused'
  if (outcome.kind === 'timeout') return 'silent'
  if (outcome.kind !== 'answered') return outcome.kind
  const name = outcome.name.startsWith('sink') ? sink : outcome.name
  return `${name} from ${addressOf(outcome.peer)}`
}

function addressOf(peer: string): string {
  return peer.slice(0, peer.lastIndexOf(':')).replace(/^\[|\]$/g, '')
}
