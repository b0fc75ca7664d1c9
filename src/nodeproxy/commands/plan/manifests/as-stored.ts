import type { Service, ServicePort } from '../../../../resources/types.ts'

/**
 * A Service as the API server would store it over `before`: addresses and ports that a manifest leaves out stay as
 * they were allocated, and so does the status.
 */
export function asStored(
  given: Service,
  before: Service | undefined,
  isHeadless: boolean,
): Service {
  if (before === undefined) return given
  const hasNodePorts = given.type === 'NodePort' || given.type === 'LoadBalancer'
  const isAddressed = !isHeadless && given.type !== 'ExternalName'
  const isLocal = given.type === 'LoadBalancer' && given.externalTrafficPolicy === 'Local'
  return {
    ...given,
    uid: before.uid,
    clusterIPs: given.clusterIPs.length === 0 && isAddressed ? before.clusterIPs : given.clusterIPs,
    ports: hasNodePorts ? given.ports.map((port) => withNodePort(port, before)) : given.ports,
    healthCheckNodePort:
      given.healthCheckNodePort === 0 && isLocal
        ? before.healthCheckNodePort
        : given.healthCheckNodePort,
    loadBalancerIPs: given.type === 'LoadBalancer' ? before.loadBalancerIPs : [],
  }
}

function withNodePort(port: ServicePort, before: Service): ServicePort {
  if (port.nodePort !== 0) return port
  const same = before.ports.find(
    (one) => one.port === port.port && one.protocol === port.protocol && one.name === port.name,
  )
  return same === undefined ? port : { ...port, nodePort: same.nodePort }
}
