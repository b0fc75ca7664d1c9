import type { IpAddress } from '../lib/ip.ts'
import type { Protocol, ServiceKey } from '../resources/types.ts'
import type { EntryId, Frontend } from './entry.ts'

/** Why something is not served; each code has its row in docs/errors.md. */
export type ProblemCode =
  | 'NP_FORWARDING_CONFLICT'
  | 'NP_FORWARDING_CLUSTER_IP_OF_OTHER'
  | 'NP_FORWARDING_SPECIAL_ADDRESS'
  | 'NP_FORWARDING_NOT_ALLOWED'
  | 'NP_FORWARDING_FAMILY_NOT_SERVED'
  | 'NP_FORWARDING_DUPLICATE_PORT'

/** One address that a Service names and this node does not use. */
export interface Refusal {
  readonly kind: Frontend['kind'] | 'endpoint'
  readonly ip: IpAddress | 'node'
  readonly port: number
  readonly code: ProblemCode
  /** One sentence: the field, the value and the remedy. */
  readonly message: string
}

/**
 * A refusal as the status of an entry shows it. `Conflict`: somebody else holds
 * the address now, and it is granted when they let go. `Refused`: a rule forbids it.
 */
export interface FrontendProblem extends Refusal {
  readonly entry: EntryId
  readonly service: ServiceKey
  readonly protocol: Protocol
  readonly status: 'Conflict' | 'Refused'
  /** Who holds the address; undefined when a rule of its own forbids it. */
  readonly winner: EntryId | ServiceKey | undefined
}
