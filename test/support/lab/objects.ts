/** Any API object, as a test writes it. */
export interface ApiObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly [field: string]: unknown
}

export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export interface PortSpec {
  readonly name?: string
  readonly port: number
  readonly protocol?: 'TCP' | 'UDP' | 'SCTP'
  readonly targetPort?: number | string
  readonly nodePort?: number
}

export interface ServiceSpec {
  readonly type?: 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName'
  readonly clusterIP?: string
  readonly clusterIPs?: readonly string[]
  readonly ipFamilies?: readonly ('IPv4' | 'IPv6')[]
  readonly ports: readonly PortSpec[]
  readonly [field: string]: unknown
}

export interface EndpointSpec {
  readonly ip: string
  /** Node of the endpoint; the node under test unless given; empty: unknown. */
  readonly node?: string
  readonly ready?: boolean
  readonly serving?: boolean
  readonly terminating?: boolean
}

/** A Service of `ns/name`; one port 80 unless the spec says otherwise. */
export function service(key: string, spec: ServiceSpec, more: Partial<ApiObject> = {}): ApiObject {
  const clusterIP = spec.clusterIP ?? ''
  const families = clusterIP.includes(':') ? ['IPv6'] : ['IPv4']
  return {
    apiVersion: 'v1',
    kind: 'Service',
    spec: { type: 'ClusterIP', clusterIPs: [clusterIP], ipFamilies: families, ...spec },
    ...more,
    metadata: { ...more.metadata, ...meta(key) },
  }
}

/** An EndpointSlice of Service `key`, named `<name>-<suffix>`. */
export function slice(
  key: string,
  endpoints: readonly EndpointSpec[],
  options: { readonly ports?: readonly PortSpec[]; readonly suffix?: string } = {},
): ApiObject {
  const { name, namespace } = meta(key)
  const v6 = endpoints[0]?.ip.includes(':') ?? false
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${name}-${options.suffix ?? '1'}`,
      namespace,
      labels: { 'kubernetes.io/service-name': name },
    },
    addressType: v6 ? 'IPv6' : 'IPv4',
    endpoints: endpoints.map(endpoint),
    ports: (options.ports ?? [{ name: '', port: 80 }]).map((port) => ({
      protocol: 'TCP',
      ...port,
    })),
  }
}

function endpoint({ ip, node = 'test-node', ready, serving, terminating }: EndpointSpec) {
  const conditions = {
    ready: ready ?? true,
    serving: serving ?? ready ?? true,
    terminating: terminating ?? false,
  }
  return { addresses: [ip], conditions, ...(node === '' ? {} : { nodeName: node }) }
}

function meta(key: string): { name: string; namespace: string } {
  const slash = key.indexOf('/')
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}
