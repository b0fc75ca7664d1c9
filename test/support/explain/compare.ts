import type { WalkOutcome } from '../../../src/explain/walk/walk-outcome.ts'
import { hostPort } from '../../../src/lib/ip.ts'
import type { ConnectOutcome } from '../agent/protocol.ts'

/** A predicted outcome as a line; predictions and real outcomes are compared as sets of lines. */
export function predicted(outcome: WalkOutcome): string {
  if (outcome.kind === 'refused') return 'refused'
  if (outcome.kind === 'silent') return 'silent'
  if (outcome.kind === 'uncertain') return `uncertain: ${outcome.reason}`
  return `${hostPort(outcome.dst.ip, outcome.dst.port ?? 0)} from ${outcome.src}`
}

/** The outcome of a connection as such a line. `sink`: the name with which the sinks of the lab answer. */
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
