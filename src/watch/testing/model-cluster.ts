import { ModelApi } from '../../client/testing/model-api.ts'
import type { Arrival } from '../../client/testing/scripted-server.ts'
import { answerJson, answerStatus } from '../../client/testing/scripted-server.ts'

const SLICES = /^\/apis\/discovery\.k8s\.io\/(v1|v1beta1)\/endpointslices$/

/** The path of ServiceCIDR objects. */
export const SERVICE_CIDRS = '/apis/networking.k8s.io/v1/servicecidrs'

/** The paths of what policies depend on. */
export const POLICY_PATHS = {
  networkpolicies: '/apis/networking.k8s.io/v1/networkpolicies',
  pods: '/api/v1/pods',
  namespaces: '/api/v1/namespaces',
} as const

/** The path of the group of ClusterNetworkPolicies, and of its objects. */
export const CLUSTER_POLICIES = {
  group: '/apis/policy.networking.k8s.io',
  objects: '/apis/policy.networking.k8s.io/v1alpha2/clusternetworkpolicies',
} as const

/** An API server with the collections that a node follows. */
export class ModelCluster {
  readonly services = new ModelApi()
  readonly slices = new ModelApi()
  readonly endpoints = new ModelApi()
  readonly nodes = new ModelApi()
  readonly serviceCIDRs = new ModelApi()
  readonly policies = {
    networkpolicies: new ModelApi(),
    pods: new ModelApi(),
    namespaces: new ModelApi(),
  }
  readonly clusterPolicies = new ModelApi()
  /** Versions of policy.networking.k8s.io that it has. */
  policyVersions: readonly string[] = []
  /** Versions of discovery.k8s.io that it has. */
  discovery: readonly string[] = ['v1']
  /** Whether it has the API of ServiceCIDR objects. */
  hasServiceCIDRs = true
  /** Answers every request to these paths with this status. */
  readonly refusals = new Map<string, number>()

  answer(arrival: Arrival): void {
    const { url, response } = arrival
    const refusal = this.refusals.get(url.pathname)
    if (refusal !== undefined) return answerStatus(response, refusal, 'Refused')
    const version = SLICES.exec(url.pathname)?.[1]
    if (version !== undefined && this.discovery.includes(version))
      return this.slices.answer(arrival)
    if (url.pathname === '/apis/discovery.k8s.io' && this.discovery.length > 0) {
      const versions = this.discovery.map((name) => ({ groupVersion: `discovery.k8s.io/${name}` }))
      return answerJson(response, 200, { kind: 'APIGroup', versions })
    }
    if (url.pathname === CLUSTER_POLICIES.group && this.policyVersions.length > 0) {
      const group = 'policy.networking.k8s.io'
      const versions = this.policyVersions.map((name) => ({ groupVersion: `${group}/${name}` }))
      return answerJson(response, 200, { kind: 'APIGroup', versions })
    }
    if (url.pathname === CLUSTER_POLICIES.objects && this.policyVersions.includes('v1alpha2'))
      return this.clusterPolicies.answer(arrival)
    if (url.pathname === '/api/v1/services') return this.services.answer(arrival)
    if (url.pathname === '/api/v1/endpoints') return this.endpoints.answer(arrival)
    if (url.pathname === '/api/v1/nodes') return this.nodes.answer(arrival)
    if (url.pathname === SERVICE_CIDRS && this.hasServiceCIDRs)
      return this.serviceCIDRs.answer(arrival)
    for (const name of ['networkpolicies', 'pods', 'namespaces'] as const) {
      if (url.pathname === POLICY_PATHS[name]) return this.policies[name].answer(arrival)
    }
    return answerStatus(response, 404, 'NotFound')
  }

  putService(key: string, clusterIP: string, labels: Readonly<Record<string, string>> = {}): void {
    const ports = [{ port: 80, protocol: 'TCP' }]
    this.services.put(
      key,
      { type: 'ClusterIP', clusterIP, clusterIPs: [clusterIP], ports },
      { labels },
    )
  }

  putSlice(key: string, service: string, ip: string): void {
    this.slices.put(key, undefined, {
      labels: { 'kubernetes.io/service-name': service },
      addressType: 'IPv4',
      ports: [{ name: '', port: 8080, protocol: 'TCP' }],
      endpoints: [{ addresses: [ip], conditions: { ready: true } }],
    })
  }

  putEndpoints(key: string, ip: string): void {
    const subsets = [{ addresses: [{ ip }], ports: [{ port: 8080, protocol: 'TCP' }] }]
    this.endpoints.put(key, undefined, { subsets })
  }

  putNode(name: string, zone: string): void {
    this.nodes.put(name, {}, { labels: { 'topology.kubernetes.io/zone': zone }, status: {} })
  }

  /** Ends every watch and discards the history of events, as an upgrade of the server does. */
  restart(): void {
    for (const api of [this.services, this.slices, this.endpoints, this.nodes, this.serviceCIDRs]) {
      api.compact()
      api.disconnect(false)
    }
  }
}
