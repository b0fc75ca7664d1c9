import { endpointsController } from '../../controllers/endpoints/endpoints-controller.ts'
import { mirroringController } from '../../controllers/endpointslicemirroring/mirroring-controller.ts'
import { endpointSlicesController } from '../../controllers/endpointslices/endpointslices-controller.ts'
import { garbageCollector } from '../../controllers/garbagecollector/garbagecollector-controller.ts'
import { parseAddressPool } from '../../controllers/loadbalancer/address-pool.ts'
import { createLoadBalancerController } from '../../controllers/loadbalancer/loadbalancer-controller.ts'
import { namespaceLifecycleController } from '../../controllers/namespacelifecycle/namespacelifecycle-controller.ts'
import { nodeLifecycleController } from '../../controllers/nodelifecycle/nodelifecycle-controller.ts'
import { podReadinessController } from '../../controllers/nodelifecycle/podreadiness-controller.ts'
import { createFinishedPodsController } from '../../controllers/podcollector/finishedpods-controller.ts'
import { podCollector } from '../../controllers/podcollector/podcollector-controller.ts'
import type { Controller } from '../../controllers/runner/controller.ts'

/** Every controller, in the order in which help names them. */
export function knownControllers(loadBalancerPools: readonly string[]): readonly Controller[] {
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
  ]
}
