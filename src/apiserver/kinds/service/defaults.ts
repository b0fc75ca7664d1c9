import { DEFAULT_AFFINITY_SECONDS } from '../../../resources/affinity.ts'
import { isPort } from '../../../resources/port.ts'
import { own, type Raw } from '../../../resources/raw.ts'
import { change, changeEach, defaultProtocol, fill, without } from '../shared/edit.ts'

export function defaultService(service: Raw): Raw {
  return change(service, 'spec', defaultSpec)
}

function defaultSpec(given: Raw): Raw {
  const spec = fill(given, { type: 'ClusterIP', sessionAffinity: 'None' })
  const type = own(spec, 'type')
  const policies = {
    ...(type === 'ExternalName' ? {} : { internalTrafficPolicy: 'Cluster' }),
    ...(isExternal(spec) ? { externalTrafficPolicy: 'Cluster' } : {}),
    ...(type === 'LoadBalancer' ? { allocateLoadBalancerNodePorts: true } : {}),
  }
  return changeEach(defaultAffinity(fill(spec, policies)), 'ports', defaultPort)
}

/** Reachable from outside: a node port, a load balancer, or an externalIP of a ClusterIP. */
function isExternal(spec: Raw): boolean {
  const type = own(spec, 'type')
  const ips = own(spec, 'externalIPs')
  if (type === 'NodePort' || type === 'LoadBalancer') return true
  return type === 'ClusterIP' && Array.isArray(ips) && ips.length > 0
}

/** Without affinity its configuration means nothing and goes. */
function defaultAffinity(spec: Raw): Raw {
  const affinity = own(spec, 'sessionAffinity')
  if (affinity === 'None') return without(spec, 'sessionAffinityConfig')
  if (affinity !== 'ClientIP') return spec
  const seconds = { timeoutSeconds: DEFAULT_AFFINITY_SECONDS }
  const inner = (config: Raw) => change(config, 'clientIP', (clientIP) => fill(clientIP, seconds))
  return change(spec, 'sessionAffinityConfig', inner)
}

/** A target of 0 means that none was given. */
function defaultPort(given: Raw): Raw {
  const port = defaultProtocol(given)
  const number = own(port, 'port')
  if (!isPort(number)) return port
  return own(port, 'targetPort') === 0
    ? { ...port, targetPort: number }
    : fill(port, { targetPort: number })
}
