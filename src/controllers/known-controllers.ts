import { createCertificatesController, type RequestAuthority } from './certificates-controller.ts'
import { clusterRoleAggregationController } from './clusterroleaggregation-controller.ts'
import { disruptionController } from './disruption-controller.ts'
import { endpointsController } from './endpoints/endpoints-controller.ts'
import { endpointSlicesController } from './endpoints/endpointslices-controller.ts'
import { mirroringController } from './endpoints/mirroring-controller.ts'
import { garbageCollector } from './garbagecollector-controller.ts'
import {
  createLoadBalancerController,
  type LoadBalancerSettings,
} from './loadbalancer/loadbalancer-controller.ts'
import { namespaceLifecycleController } from './namespacelifecycle-controller.ts'
import { nodeLifecycleController, podReadinessController } from './nodelifecycle-controller.ts'
import { createNodeTaintsController, type NodeEviction } from './nodetaints-controller.ts'
import { createFinishedPodsController, podCollector } from './podcollector-controller.ts'
import { createRootCaController } from './rootca-controller.ts'
import type { Controller } from './runner/controller.ts'
import { scheduler } from './scheduler/scheduler-controller.ts'
import {
  createServiceAccountTokensController,
  serviceAccountsController,
  type TokenContents,
} from './serviceaccounts-controller.ts'
import { taintEvictionController } from './tainteviction-controller.ts'
import { daemonSetController } from './workloads/daemonset-controller.ts'
import { deploymentController } from './workloads/deployment-controller.ts'
import { jobController } from './workloads/job-controller.ts'
import { replicaSetController } from './workloads/replicaset-controller.ts'
import { statefulSetController } from './workloads/statefulset-controller.ts'
import { ttlAfterFinishedController } from './workloads/ttlafterfinished-controller.ts'

/** The account in kube-system that watches the objects for all controllers. */
export const READER_ACCOUNT = 'controllers-reader'

/** The tokens and certificates that some controllers provide. A controller whose part is absent does nothing. */
export type IdentityContents = Partial<TokenContents & { readonly requests: RequestAuthority }>

/** What an operator decides about some controllers. */
interface ControllerSettings {
  readonly loadBalancer?: LoadBalancerSettings
  /** Absent: as kube-controller-manager by default. */
  readonly nodeEviction?: NodeEviction
}

const NO_POOLS: LoadBalancerSettings = { addressPools: [], loadBalancerClass: '' }

/** All controllers, in the order in which the help lists them. */
export function knownControllers(
  { loadBalancer = NO_POOLS, nodeEviction }: ControllerSettings = {},
  { ca, sign, requests }: IdentityContents = {},
): readonly Controller[] {
  return [
    endpointsController,
    endpointSlicesController,
    mirroringController,
    nodeLifecycleController,
    podReadinessController,
    createNodeTaintsController(nodeEviction),
    taintEvictionController,
    createLoadBalancerController(loadBalancer),
    garbageCollector,
    namespaceLifecycleController,
    podCollector,
    createFinishedPodsController(),
    serviceAccountsController,
    createServiceAccountTokensController(
      ca !== undefined && sign !== undefined ? { ca, sign } : undefined,
    ),
    createRootCaController(ca),
    clusterRoleAggregationController,
    createCertificatesController(requests),
    disruptionController,
    replicaSetController,
    deploymentController,
    daemonSetController,
    statefulSetController,
    jobController,
    ttlAfterFinishedController,
    scheduler,
  ]
}
