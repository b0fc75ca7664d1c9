import type { Finding } from './finding.ts'
import type { NodeFacts } from './node-facts.ts'

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
