import type { Resource } from '../resource/resource.ts'
import { configMaps } from './config-map.ts'
import { deployments } from './deployment.ts'
import { endpointSlices } from './endpoint-slice.ts'
import { endpoints } from './endpoints.ts'
import { events } from './event.ts'
import { leases } from './lease.ts'
import { namespaces } from './namespace.ts'
import { networkPolicies } from './network-policy.ts'
import { nodes } from './node.ts'
import { pods } from './pod.ts'
import { clusterRoles, roles } from './role.ts'
import { clusterRoleBindings, roleBindings } from './role-binding.ts'
import { secrets } from './secret.ts'
import { services } from './service.ts'
import { serviceAccounts } from './service-account.ts'
import { serviceCidrs } from './service-cidr.ts'

/**
 * Every resource that this server has, in the order of discovery and of emptying
 * a namespace: what limits pods goes after them (CVE-2024-7598).
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
  deployments,
  leases,
  endpointSlices,
  networkPolicies,
  serviceCidrs,
  clusterRoleBindings,
  clusterRoles,
  roleBindings,
  roles,
]
