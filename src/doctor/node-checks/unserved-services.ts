import { checkOfEachNode, type NodeFinding } from '../evidence/node-check.ts'
import type { DaemonFacts } from '../evidence/node-facts.ts'

/** Addresses of Services that are not served: claimed by another Service, or refused by the kernel. */
export const unservedServices = checkOfEachNode('unserved-services', ({ daemon }) =>
  daemon === undefined
    ? []
    : [...daemon.problems.map(ofProblem), ...daemon.refusals.map(ofRefusal)],
)

function ofProblem({ entry, code, message }: DaemonFacts['problems'][number]): NodeFinding {
  return {
    symptom: 'Service not reachable',
    cause: `${entry} is not served whole: ${message}`,
    evidence: [code],
    remedy: `the row of ${code} in docs/errors.md`,
    commands: [`node-proxy entries ${entry.split(':')[0] ?? ''}`],
    services: [entry.split(':')[0] ?? ''],
  }
}

function ofRefusal({ object, code, message }: DaemonFacts['refusals'][number]): NodeFinding {
  return {
    symptom: 'Service not reachable',
    cause: `the kernel refuses ${object}: ${message}`,
    evidence: [code],
    remedy: `the row of ${code} in docs/errors.md`,
    commands: ['node-proxy status'],
  }
}
