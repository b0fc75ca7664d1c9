import { addressConflict } from './checks/address-conflict.ts'
import { apiToken } from './checks/api-token.ts'
import { brokenBinding } from './checks/broken-binding.ts'
import { clusterDns, podDns } from './checks/cluster-dns.ts'
import { clusterNetworkPolicy, unreadableClusterPolicy } from './checks/cluster-network-policy.ts'
import { endpointsMissing, targetPort } from './checks/endpoints-missing.ts'
import { externalName } from './checks/external-name.ts'
import { imagePull } from './checks/image-pull.ts'
import { policiesNotEnforced, policySelectsNothing } from './checks/ineffective-policy.ts'
import { loadBalancerPending } from './checks/load-balancer-pending.ts'
import { localPolicy } from './checks/local-policy.ts'
import { missingAccount, tokenSecret } from './checks/missing-account.ts'
import { networkPolicy } from './checks/network-policy.ts'
import { podsNotReady } from './checks/pods-not-ready.ts'
import { scaledToZero, selectorMatchesNothing } from './checks/selector-matches-nothing.ts'
import { sessionAffinity } from './checks/session-affinity.ts'
import { sourceRanges } from './checks/source-ranges.ts'
import type { ClusterEvidence } from './evidence/cluster-evidence.ts'
import type { Check, Finding, NodeCheck, NodeEvidence } from './evidence/finding.ts'
import { concernedBy, type InspectedObject } from './evidence/inspected-object.ts'
import { backendRefuses, takenNodePort, unbalancedLoad } from './node-checks/backends.ts'
import { conntrackFull, lostInsertions } from './node-checks/connection-tracking.ts'
import {
  daemonAbsent,
  expiredCredential,
  foreignProxy,
  notReady,
  unannouncedAddresses,
  unestablishedPeers,
  unservedServices,
  wrongMode,
} from './node-checks/daemon-state.ts'
import { differingClock, differingNode } from './node-checks/differing-node.ts'
import { interfaceMtu } from './node-checks/interface-mtu.ts'
import {
  bridgeNetfilter,
  exposedLoopback,
  forwardingOff,
  missingModules,
  reversePath,
} from './node-checks/kernel-settings.ts'
import {
  nodeFirewall,
  noLocalEndpoint,
  refusedClient,
  unusableRoute,
} from './node-checks/lost-packets.ts'
import { tooManyRules } from './node-checks/too-many-rules.ts'

/**
 * Every check, in the order in which findings are shown: first what stops the whole cluster or all Pods of an account,
 * then what stops a Service for all its clients, then for some of them; last what may be intended.
 */
export const CHECKS: readonly Check[] = [
  clusterDns,
  missingAccount,
  imagePull,
  scaledToZero,
  selectorMatchesNothing,
  podsNotReady,
  targetPort,
  endpointsMissing,
  externalName,
  unreadableClusterPolicy,
  clusterNetworkPolicy,
  networkPolicy,
  addressConflict,
  loadBalancerPending,
  sourceRanges,
  localPolicy,
  policiesNotEnforced,
  policySelectsNothing,
  tokenSecret,
  apiToken,
  brokenBinding,
  podDns,
  sessionAffinity,
]

/** Every check of nodes, in the order in which findings are shown: the most far-reaching causes first. */
export const NODE_CHECKS: readonly NodeCheck[] = [
  missingModules,
  daemonAbsent,
  expiredCredential,
  notReady,
  wrongMode,
  foreignProxy,
  forwardingOff,
  unusableRoute,
  nodeFirewall,
  conntrackFull,
  bridgeNetfilter,
  reversePath,
  interfaceMtu,
  refusedClient,
  noLocalEndpoint,
  backendRefuses,
  takenNodePort,
  unservedServices,
  unannouncedAddresses,
  unestablishedPeers,
  lostInsertions,
  tooManyRules,
  unbalancedLoad,
  exposedLoopback,
  differingNode,
  differingClock,
]

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
