import type { ClusterEvidence } from './cluster-evidence.ts'
import type { InspectedObject } from './inspected-object.ts'

/** What people notice; the words are those of docs/operate/troubleshooting.md. */
export type Symptom =
  | 'Service not reachable'
  | 'Connection timeout'
  | 'DNS resolution fails'
  | 'Image pull fails'
  | 'Pod cannot reach the API'
  | 'Permission denied'
  | 'Token does not exist'
  | 'Token expired'
  | 'External access fails'
  | 'Service IP unreachable'
  | 'Unbalanced load'
  | 'IPVS mode has no effect'
  | 'Rules too many, slow'
  | 'Changes do not arrive'
  | 'Services on 127.0.0.1 are exposed'

/** A cause that was found, with what shows it and what removes it. */
export interface Finding {
  /** The check that found it: `selector-matches-nothing`. */
  readonly check: string
  readonly symptom: Symptom
  /** The object that has to be corrected: `service/shop/web`; for an object of the cluster without a namespace. */
  readonly object: string
  /** Further objects that suffer from it. */
  readonly affects: readonly string[]
  /** What is wrong, with the values, in one sentence. */
  readonly cause: string
  /** What was seen, one sentence each. */
  readonly evidence: readonly string[]
  /** What to do, in one sentence; `commands` are the commands for it. */
  readonly remedy: string
  readonly commands: readonly string[]
}

/**
 * One check, which looks for one cause in the whole cluster. Pure; the order of its findings is that of the objects.
 * What may be intended is a finding only for the inspected object, because the user says that it does not work.
 */
export interface Check {
  readonly name: string
  find(evidence: ClusterEvidence, inspected?: InspectedObject): readonly Finding[]
}
