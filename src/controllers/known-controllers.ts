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

/** The account in kube-system that watches the objects for all controllers. */
export const READER_ACCOUNT = 'controllers-reader'

/** The tokens and certificates that some controllers provide. A controller whose part is absent does nothing. */
export type IdentityContents = Partial<TokenContents>

/** All controllers, in the order in which the help lists them. */
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
