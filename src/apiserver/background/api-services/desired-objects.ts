import { type JsonObject, objectAt, stringAt } from '../../../lib/json.ts'
import { SERVICE_NAME, SKIP_MIRROR } from '../../../resources/label-names.ts'
import { API_SERVICE_NAMESPACE } from '../../../resources/pod-environment.ts'
import { endpointSlices } from '../../kinds/endpoint-slice/resource.ts'
import { endpoints } from '../../kinds/endpoints/resource.ts'
import { services } from '../../kinds/service/resource.ts'
import type { DesiredObject } from '../ensure-object.ts'
import type { ApiService } from './api-services.ts'
import type { ReplicaAddress } from './replica-address.ts'

/** Fields of a Service that a correction keeps; the server decides the rest of the spec. */
const KEPT = ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy']

/** One Service of the API, its Endpoints and its EndpointSlices (one for each port), for these replicas. */
export function desiredObjects(
  apiService: ApiService,
  replicas: readonly ReplicaAddress[],
): readonly DesiredObject[] {
  const { name, family } = apiService
  const byPort = Map.groupBy(replicas, ({ port }) => port)
  const groups = [...byPort].toSorted(([a], [b]) => a - b)
  const at = { namespace: API_SERVICE_NAMESPACE, name }
  return [
    { ...at, resource: services, next: (old) => serviceOf(apiService, groups[0]?.[0], old) },
    { ...at, resource: endpoints, next: (old) => endpointsOf(groups, old) },
    ...groups.map(([port, members], index) => ({
      ...{ ...at, name: index === 0 ? name : `${name}-${port}`, resource: endpointSlices },
      next: (old: JsonObject) => ({
        metadata: labelled(old, { [SERVICE_NAME]: name }),
        addressType: `IPv${family}`,
        ports: [portOf(port)],
        endpoints: members.map(({ ip }) => ({ addresses: [ip], conditions: { ready: true } })),
      }),
    })),
  ]
}

function serviceOf(
  { name, ip }: ApiService,
  port: number | undefined,
  old: JsonObject,
): JsonObject {
  const spec = Object.entries(objectAt(old, 'spec')).filter(([field]) => KEPT.includes(field))
  const address = { clusterIP: ip, clusterIPs: [ip], ipFamilyPolicy: 'SingleStack' }
  const hasAddress = stringAt(old, 'spec', 'clusterIP') !== ''
  const targetPort = port ?? 'https'
  return {
    ...old,
    metadata: labelled(old, { component: 'apiserver', provider: name }),
    spec: {
      ...(hasAddress ? Object.fromEntries(spec) : address),
      type: 'ClusterIP',
      sessionAffinity: 'None',
      ports: [{ name: 'https', protocol: 'TCP', port: 443, targetPort }],
    },
  }
}

/** Labelled against mirroring, because the server writes the slices itself. */
function endpointsOf(
  groups: readonly (readonly [port: number, members: readonly ReplicaAddress[]])[],
  old: JsonObject,
): JsonObject {
  const subsets = groups.map(([port, members]) => ({
    addresses: members.map(({ ip }) => ({ ip })),
    ports: [portOf(port)],
  }))
  const metadata = labelled(old, { [SKIP_MIRROR]: 'true' })
  return { metadata, ...(subsets.length > 0 ? { subsets } : {}) }
}

function portOf(port: number): JsonObject {
  return { name: 'https', port, protocol: 'TCP' }
}

function labelled(old: JsonObject, labels: JsonObject): JsonObject {
  const metadata = objectAt(old, 'metadata')
  return { ...metadata, labels: { ...objectAt(metadata, 'labels'), ...labels } }
}
