import { sessionAffinity } from '../../doctor/checks/session-affinity.ts'
import { diagnoseNodes } from '../../doctor/diagnose-nodes.ts'
import type { Finding } from '../../doctor/evidence/finding.ts'
import { decodeNodeFacts, type NodeFacts } from '../../doctor/evidence/node-facts.ts'
import { unbalancedLoad } from '../../doctor/node-checks/unbalanced-load.ts'
import type { CommandContext } from '../command/context.ts'
import { type NodeFlags, nodeFlagsOf } from '../nodes/node-flags.ts'
import { readNodes } from '../nodes/read-nodes.ts'
import { listObjects } from '../reading/list-pages.ts'

/** Milliseconds for the facts of one node, which lists all rules of its kernel. */
const TIMEOUT_MS = 65_000

/**
 * What is wrong on the nodes of the cluster, by what their node-proxies read there. Nodes that cannot be read are
 * notices. @throws what the server refuses
 */
export async function diagnoseClusterNodes(
  context: CommandContext,
  flags: NodeFlags,
): Promise<readonly Finding[]> {
  const { api } = await context.session()
  const nodes = await listObjects(api, { path: '/api/v1/nodes' })
  const options = {
    ...{ path: '/inspection/v1/facts', timeoutMs: TIMEOUT_MS },
    ...nodeFlagsOf(flags),
  }
  const known = new Map<string, NodeFacts>()
  for (const { node, result } of await readNodes(nodes, context, options)) {
    const facts = result.ok ? decodeNodeFacts(result.body) : undefined
    if (facts !== undefined) known.set(node, facts)
    const notices = result.ok
      ? unreadOf(facts)
      : [`${result.error.message}; ${result.error.hint ?? ''}`]
    for (const why of notices) context.notice(`not checked: node ${node}: ${why}`)
  }
  return diagnoseNodes(known)
}

function unreadOf(facts: NodeFacts | undefined): readonly string[] {
  if (facts === undefined) return ['its node-proxy sends facts of another version']
  return facts.unread.map(({ what, why }) => `${what}: ${why}`)
}

/** Findings that concern a Service, and those that concern the whole node. */
export function concerning(findings: readonly Finding[], key: string): readonly Finding[] {
  return findings.filter(
    ({ affects }) =>
      affects.includes(`service/${key}`) || !affects.some((one) => one.startsWith('service/')),
  )
}

/** Findings of nodes without the unbalanced load of Services whose session affinity was found by their counters. */
export function unexplained(
  findings: readonly Finding[],
  ofObjects: readonly Finding[],
): readonly Finding[] {
  const sticky = ofObjects.filter(({ check }) => check === sessionAffinity.name)
  const explained = new Set(sticky.map(({ object }) => object))
  return findings.filter(
    ({ check, affects }) =>
      check !== unbalancedLoad.name || !affects.some((one) => explained.has(one)),
  )
}
