import type { Endpoint, Service } from '../resources/types.ts'

/**
 * Whether new connections may go to an endpoint. `publishNotReadyAddresses`
 * makes every endpoint ready that is not on its way out; an endpoint that is
 * both ready and terminating was declared ready by such a Service's controller.
 */
export function isReady(
  endpoint: Endpoint,
  service: Pick<Service, 'publishNotReadyAddresses'>,
): boolean {
  return endpoint.ready || (service.publishNotReadyAddresses && !endpoint.terminating)
}
