import type { ConnectOutcome } from '../agent/protocol.ts'
import { SINK } from '../lab/beyond.ts'

export interface Expectation {
  readonly outcome: 'deliver' | 'reject' | 'drop' | 'unhandled' | 'accept'
  /** For `deliver`: exactly these must answer. */
  readonly endpoints?: readonly string[]
  readonly masquerade?: boolean
  /** Source address of the client. */
  readonly source: string
  /** Addresses that a masqueraded packet may come from. */
  readonly nodeAddresses: ReadonlySet<string>
  /** With session affinity: the number of endpoints that answer, instead of all. */
  readonly distinct?: number
}

/**
 * What is wrong with the outcomes of connections, one text for each fault; empty if they are as expected. Pure: another
 * function sends the packets.
 */
export function judge(expected: Expectation, outcomes: readonly ConnectOutcome[]): string[] {
  if (outcomes.length === 0) return ['no connection was tried']
  const wrong = outcomes.flatMap((outcome) => faultOf(expected, outcome) ?? [])
  return [...new Set([...wrong, ...spreadFaults(expected, outcomes)])]
}

function faultOf(expected: Expectation, outcome: ConnectOutcome): string | undefined {
  switch (expected.outcome) {
    case 'reject':
      return outcome.kind === 'refused' ? undefined : `expected a refusal: ${describe(outcome)}`
    case 'drop':
      return outcome.kind === 'timeout' ? undefined : `expected silence: ${describe(outcome)}`
    case 'accept':
      return outcome.kind === 'mute' ? undefined : `expected the node itself: ${describe(outcome)}`
    case 'unhandled':
      return unhandledFault(expected, outcome)
    case 'deliver':
    default:
      return deliveryFault(expected, outcome)
  }
}

function unhandledFault(expected: Expectation, outcome: ConnectOutcome): string | undefined {
  const passed = outcome.kind === 'answered' && isSink(outcome.name)
  if (!passed) return `expected the packet to pass on: ${describe(outcome)}`
  if (ipOf(outcome.peer) === expected.source) return undefined
  return `passed on, but its source became ${ipOf(outcome.peer)}`
}

function deliveryFault(expected: Expectation, outcome: ConnectOutcome): string | undefined {
  const wanted = expected.endpoints ?? []
  if (outcome.kind !== 'answered' || !wanted.includes(outcome.name)) {
    return `expected one of ${wanted.join(', ')}: ${describe(outcome)}`
  }
  return sourceFault(expected, ipOf(outcome.peer))
}

function sourceFault(
  { masquerade, source, nodeAddresses }: Expectation,
  seen: string,
): string | undefined {
  if (masquerade === undefined) return undefined
  if (masquerade && !nodeAddresses.has(seen)) return `not masqueraded: the endpoint saw ${seen}`
  if (!masquerade && seen !== source) return `masqueraded: the endpoint saw ${seen}, not ${source}`
  return undefined
}

/** Faults over all connections: whether all endpoints were used, or, with affinity, only the expected number. */
function spreadFaults(expected: Expectation, outcomes: readonly ConnectOutcome[]): string[] {
  if (expected.outcome !== 'deliver') return []
  const seen = new Set(
    outcomes.flatMap((outcome) => (outcome.kind === 'answered' ? [outcome.name] : [])),
  )
  if (expected.distinct !== undefined) {
    if (seen.size === expected.distinct) return []
    return [`expected ${expected.distinct} endpoint(s), got ${[...seen].join(', ')}`]
  }
  const missing = (expected.endpoints ?? []).filter((name) => !seen.has(name))
  return missing.map((name) => `${name} never answered in ${outcomes.length} connections`)
}

function isSink(name: string): boolean {
  return name === SINK.node || name === SINK.world
}

function describe(outcome: ConnectOutcome): string {
  if (outcome.kind === 'answered') return `answered by ${outcome.name}, which saw ${outcome.peer}`
  return outcome.kind === 'failed' ? `failed with ${outcome.code}` : outcome.kind
}

/** Address of `ip:port` or `[ip]:port`. */
export function ipOf(socket: string): string {
  return socket.slice(0, socket.lastIndexOf(':')).replace(/^\[|\]$/g, '')
}
