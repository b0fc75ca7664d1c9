import type { Resource } from '../resource/resource.ts'
import { certificateSigningRequests } from './certificate-signing-request.ts'
import { clusterNetworkPolicies } from './cluster-network-policy.ts'
import { configMaps } from './config-map.ts'
import { controllerRevisions } from './controller-revision.ts'
import { daemonSets } from './daemon-set.ts'
import { deployments } from './deployment.ts'
import { endpointSlices } from './endpoint-slice.ts'
import { endpoints } from './endpoints.ts'
import { events } from './event.ts'
import { jobs } from './job.ts'
import { leases } from './lease.ts'
import { namespaces } from './namespace.ts'
import { networkPolicies } from './network-policy.ts'
import { nodes } from './node/resource.ts'
import { pods } from './pod/resource.ts'
import { podDisruptionBudgets } from './pod-disruption-budget/resource.ts'
import { replicaSets } from './replica-set.ts'
import {
  localSubjectAccessReviews,
  selfSubjectAccessReviews,
  selfSubjectReviews,
  selfSubjectRulesReviews,
  subjectAccessReviews,
  tokenReviews,
} from './reviews.ts'
import { clusterRoles, roles } from './role.ts'
import { clusterRoleBindings, roleBindings } from './role-binding.ts'
import { runtimeClasses } from './runtime-class.ts'
import { secrets } from './secret.ts'
import { services } from './service/resource.ts'
import { serviceAccounts } from './service-account/resource.ts'
import { serviceCidrs } from './service-cidr.ts'
import { statefulSets } from './stateful-set.ts'
import { csiDrivers, csiNodes, volumeAttachments } from './storage.ts'

/**
 * Every resource of this server, in the order of discovery and in which a namespace is emptied: NetworkPolicies
 * are deleted after the Pods that they limit (CVE-2024-7598).
 */
export const catalogue: readonly Resource[] = [
  configMaps,
  endpoints,
  events,
  namespaces,
  nodes,
  pods,
  secrets,
  serviceAccounts,
  services,
  controllerRevisions,
  daemonSets,
  deployments,
  replicaSets,
  statefulSets,
  jobs,
  certificateSigningRequests,
  leases,
  endpointSlices,
  networkPolicies,
  clusterNetworkPolicies,
  serviceCidrs,
  runtimeClasses,
  podDisruptionBudgets,
  clusterRoleBindings,
  clusterRoles,
  roleBindings,
  roles,
  csiDrivers,
  csiNodes,
  volumeAttachments,
  selfSubjectReviews,
  tokenReviews,
  localSubjectAccessReviews,
  selfSubjectAccessReviews,
  selfSubjectRulesReviews,
  subjectAccessReviews,
]

/** The resources whose objects are stored. The others, such as reviews, are only answered. */
export const storedResources: readonly Resource[] = catalogue.filter(
  ({ review }) => review === undefined,
)

/** The kind whose objects contain all namespaced objects. */
export const container = namespaces
