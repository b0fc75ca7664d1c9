import type { JsonObject } from '../../lib/json.ts'
import type { ClusterEvidence } from './cluster-evidence.ts'
import type { InspectedObject } from './inspected-object.ts'
import type { NodeFacts } from './node-facts.ts'
import { keyOf } from './objects.ts'

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
  | 'NetworkPolicies have no effect'

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

/** The number of items of a list that a finding shows. */
export const SHOWN = 3

/** The first items of a list and the number of the others: `a, b, c and 2 more`. */
export function shortList(texts: readonly string[], noun = ''): string {
  const shown = texts.slice(0, SHOWN).join(', ')
  return texts.length > SHOWN ? `${shown} and ${texts.length - SHOWN} more${noun}` : shown
}

/** A piece of evidence: the finding holds for each of these Services. */
export function sameOfServices(services: readonly string[]): string {
  return `the same of ${services.length} Services: ${shortList(services)}`
}

/** What a check finds about one object; `checkOfEach` adds the other fields of the finding. */
export type ObjectFinding = Omit<Finding, 'check' | 'object' | 'affects'>

/**
 * One check, which looks for one cause in the whole cluster. Pure; the order of its findings is that of the objects.
 * What may be intended is a finding only for the inspected object, because the user says that it does not work.
 */
export interface Check {
  readonly name: string
  find(evidence: ClusterEvidence, inspected?: InspectedObject): readonly Finding[]
}

/** A check that judges each Service or each Pod alone. */
export function checkOfEach(
  kind: 'services' | 'pods',
  name: string,
  find: (
    object: JsonObject,
    evidence: ClusterEvidence,
    inspected: InspectedObject | undefined,
  ) => readonly ObjectFinding[],
): Check {
  const singular = kind === 'pods' ? 'pod' : 'service'
  return {
    name,
    find: (evidence, inspected) =>
      evidence.all(kind).flatMap((object) =>
        find(object, evidence, inspected).map(({ symptom, ...finding }) => ({
          check: name,
          symptom,
          object: `${singular}/${keyOf(object)}`,
          affects: [],
          ...finding,
        })),
      ),
  }
}

/** Facts by the name of their node. */
export type NodeEvidence = ReadonlyMap<string, NodeFacts>

/** One check, which looks for one cause on all nodes that were read. Pure; findings come in the order of the nodes. */
export interface NodeCheck {
  readonly name: string
  find(nodes: NodeEvidence): readonly Finding[]
}

/** What a check finds on one node; `checkOfEachNode` adds the other fields of the finding. */
export interface NodeFinding extends Omit<Finding, 'check' | 'object' | 'affects'> {
  /** Services that suffer from it, as `namespace/name`. */
  readonly services?: readonly string[]
}

/** A check that judges each node alone. */
export function checkOfEachNode(
  name: string,
  find: (facts: NodeFacts) => readonly NodeFinding[],
): NodeCheck {
  return {
    name,
    find: (nodes) =>
      [...nodes].flatMap(([node, facts]) =>
        find(facts).map(({ services = [], ...finding }) => ({
          ...finding,
          check: name,
          object: `node/${node}`,
          affects: [...new Set(services)].map((service) => `service/${service}`),
        })),
      ),
  }
}
