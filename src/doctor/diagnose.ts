import { clusterDns } from './checks/cluster-dns.ts'
import { CHECKS } from './checks.ts'
import type { ClusterEvidence } from './evidence/cluster-evidence.ts'
import type { Finding } from './evidence/finding.ts'
import { concernedBy, type InspectedObject } from './evidence/inspected-object.ts'
import type { NodeEvidence } from './evidence/node-check.ts'
import { NODE_CHECKS } from './node-checks.ts'

/** The most nodes that are listed by name. */
const MAX_NAMES = 5

/**
 * What is wrong in a cluster, in the order of `CHECKS`. With an inspected object, only what concerns it or what it
 * needs: a Service needs its Pods, a Pod its account, and both need the DNS of the cluster.
 */
export function diagnose(
  evidence: ClusterEvidence,
  inspected?: InspectedObject,
): readonly Finding[] {
  const findings = CHECKS.flatMap((check) => check.find(evidence, inspected))
  if (inspected === undefined) return findings
  const concerned = new Set(concernedBy(evidence, inspected))
  const isConcerned = ({ check, object, affects }: Finding): boolean =>
    (check === clusterDns.name && inspected.kind !== 'serviceaccount') ||
    [object, ...affects].some((one) => concerned.has(one))
  return findings.filter(isConcerned)
}

/**
 * What is wrong on nodes, in the order of `NODE_CHECKS`. A cause that several nodes share, word for word, is one
 * finding, about the first of them. The evidence also names the nodes without it, because a comparison may help.
 */
export function diagnoseNodes(nodes: NodeEvidence): readonly Finding[] {
  return NODE_CHECKS.flatMap((check) => {
    const found = check.find(nodes)
    const groups = Map.groupBy(found, ({ cause }) => cause)
    const having = new Set(found.map(({ object }) => object))
    const others = [...nodes.keys()].filter((name) => !having.has(`node/${name}`))
    return [...groups.values()].flatMap((group) => merged(group, others))
  })
}

function merged(group: readonly Finding[], others: readonly string[]): readonly Finding[] {
  const [first, ...more] = group
  if (first === undefined) return []
  const affects = new Set([
    ...more.map(({ object }) => object),
    ...group.flatMap((one) => one.affects),
  ])
  const evidence = [
    ...first.evidence,
    ...(more.length === 0
      ? []
      : [`the same on ${more.length} more ${more.length === 1 ? 'node' : 'nodes'}`]),
    ...(others.length === 0 ? [] : [`not so on ${namesOf(others)}`]),
  ]
  return [{ ...first, affects: [...affects], evidence }]
}

function namesOf(nodes: readonly string[]): string {
  const names = nodes.slice(0, MAX_NAMES).join(', ')
  return nodes.length > MAX_NAMES ? `${names} and ${nodes.length - MAX_NAMES} more nodes` : names
}

/** Findings for people, one after the other. */
export function findingsText(findings: readonly Finding[]): string {
  return findings.length === 0 ? 'nothing was found\n' : findings.map(findingText).join('\n')
}

function findingText({ symptom, object, cause, evidence, remedy, commands }: Finding): string {
  return [
    `${symptom}: ${object}: ${cause}`,
    ...evidence.map((line) => `  seen: ${line}`),
    `  remedy: ${remedy}`,
    ...commands.map((line) => `  $ ${line}`),
  ]
    .map((line) => `${line.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')}\n`)
    .join('')
}
