import { DEFAULT_AFFINITY_SECONDS } from './affinity.ts'
import { isPort } from './port.ts'
import { isRaw, own, type Raw } from './raw.ts'

/**
 * The object with the fields that its kind fills in when they are absent or
 * empty. What has the wrong type is left as it is, for validation to refuse.
 */
export function applyDefaults(kind: string, raw: Raw): Raw {
  if (kind === 'Service') return change(raw, 'spec', defaultSpec)
  if (kind === 'EndpointSlice') return changeEach(raw, 'ports', defaultSlicePort)
  if (kind === 'Endpoints') {
    return changeEach(raw, 'subsets', (subset) => changeEach(subset, 'ports', defaultProtocol))
  }
  return raw
}

function defaultSpec(given: Raw): Raw {
  const spec = fill(given, { type: 'ClusterIP', sessionAffinity: 'None' })
  const type = own(spec, 'type')
  const policies = {
    ...(type === 'ExternalName' ? {} : { internalTrafficPolicy: 'Cluster' }),
    ...(isExternal(spec) ? { externalTrafficPolicy: 'Cluster' } : {}),
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

function defaultSlicePort(port: Raw): Raw {
  return own(port, 'name') === undefined
    ? { ...defaultProtocol(port), name: '' }
    : defaultProtocol(port)
}

function defaultProtocol(port: Raw): Raw {
  return fill(port, { protocol: 'TCP' })
}

/** The object with these values where it has none, or an empty text. */
function fill(object: Raw, values: Raw): Raw {
  const missing = Object.entries(values).filter(([key]) => (own(object, key) ?? '') === '')
  return missing.length === 0 ? object : { ...object, ...Object.fromEntries(missing) }
}

function without(object: Raw, key: string): Raw {
  return Object.fromEntries(Object.entries(object).filter(([each]) => each !== key))
}

/** Applies `edit` to the object at `key`, or to an empty one when there is none. */
function change(object: Raw, key: string, edit: (value: Raw) => Raw): Raw {
  const value = own(object, key) ?? {}
  return isRaw(value) ? { ...object, [key]: edit(value) } : object
}

/** Applies `edit` to every object in the list at `key`. */
function changeEach(object: Raw, key: string, edit: (value: Raw) => Raw): Raw {
  const value = own(object, key)
  if (!Array.isArray(value)) return object
  return { ...object, [key]: value.map((item: unknown) => (isRaw(item) ? edit(item) : item)) }
}
