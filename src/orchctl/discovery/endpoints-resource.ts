import type { ApiResource } from './api-resource.ts'
import type { Catalogue } from './catalogue.ts'

/** The resource with the endpoints of Services: EndpointSlices, or v1 Endpoints where the server has none. */
export async function endpointsResource(catalogue: Catalogue): Promise<ApiResource> {
  const slices = (await catalogue.all()).find(({ plural }) => plural === 'endpointslices')
  return slices ?? catalogue.named('endpoints')
}
