import { isRaw, list, own, type Raw } from './raw.ts'

/** The object with the fields that its kind fills in when they are absent. */
export function applyDefaults(kind: string, raw: Raw): Raw {
  return kind === 'Service' ? defaultService(raw) : raw
}

function defaultService(raw: Raw): Raw {
  const given = own(raw, 'spec')
  const spec = isRaw(given) ? given : {}
  const type = own(spec, 'type') ?? 'ClusterIP'
  const affine = own(spec, 'sessionAffinity') === 'ClientIP'
  const external = type === 'NodePort' || type === 'LoadBalancer'
  const internal = type !== 'ExternalName'
  return {
    ...raw,
    spec: {
      type,
      sessionAffinity: 'None',
      ...(internal ? { internalTrafficPolicy: 'Cluster' } : {}),
      ...(external ? { externalTrafficPolicy: 'Cluster' } : {}),
      ...(affine ? { sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } } } : {}),
      ...spec,
      ports: list(spec, 'ports').map((port) => (isRaw(port) ? defaultPort(port) : port)),
    },
  }
}

function defaultPort(port: Raw): Raw {
  return { protocol: 'TCP', targetPort: own(port, 'port'), ...port }
}
