import type { Endpoint, Service } from '../resources/types.ts'

/**
 * Whether new connections may go to an endpoint. `publishNotReadyAddresses` makes every endpoint ready that is not
 * terminating. An endpoint that is both ready and terminating also counts, because the controller that wrote the slice
 * sets both for such Services only.
 */
export function isReady(
  endpoint: Endpoint,
  service: Pick<Service, 'publishNotReadyAddresses'>,
): boolean {
  return endpoint.ready || (service.publishNotReadyAddresses && !endpoint.terminating)
}
