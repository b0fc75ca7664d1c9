import { parseAddressPool } from './address-pool.ts'
import { clusterRoleAggregationController } from './clusterroleaggregation-controller.ts'
import { endpointsController } from './endpoints-controller.ts'
import { endpointSlicesController } from './endpointslices-controller.ts'
import { createFinishedPodsController } from './finishedpods-controller.ts'
import { garbageCollector } from './garbagecollector-controller.ts'
import { createLoadBalancerController } from './loadbalancer-controller.ts'
import { mirroringController } from './mirroring-controller.ts'
import { namespaceLifecycleController } from './namespacelifecycle-controller.ts'
import { nodeLifecycleController } from './nodelifecycle/nodelifecycle-controller.ts'
import { podReadinessController } from './nodelifecycle/podreadiness-controller.ts'
import { podCollector } from './podcollector-controller.ts'
import { createRootCaController } from './rootca-controller.ts'
import type { Controller } from './runner/controller.ts'
import { serviceAccountsController } from './serviceaccounts-controller.ts'
import { createServiceAccountTokensController } from './serviceaccounttokens-controller.ts'
import type { TokenContents } from './token-secret-writes.ts'

/** Of kube-system: as whom the objects are followed that all controllers share. */
export const READER_ACCOUNT = 'controllers-reader'

/** What the controllers of identity give away; those that miss something do nothing. */
export type IdentityContents = Partial<TokenContents>

/** Every controller, in the order in which help names them. */
export function knownControllers(
  loadBalancerPools: readonly string[],
  { ca, sign }: IdentityContents = {},
): readonly Controller[] {
  return [
    endpointsController,
    endpointSlicesController,
    mirroringController,
    nodeLifecycleController,
    podReadinessController,
    createLoadBalancerController(loadBalancerPools.map(parseAddressPool)),
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
  ]
}
