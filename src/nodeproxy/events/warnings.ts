import type { IpAddress } from '../../lib/ip.ts'
import type { ObjectReference } from '../../resources/core-event.ts'
import type { Protocol, ServiceKey } from '../../resources/types.ts'

/** A problem with an object: the content of an Event of type Warning. */
export interface Warning {
  readonly regarding: ObjectReference
  /** UpperCamelCase, stable: operators select Events by it. */
  readonly reason: string
  readonly message: string
}

/** Refers to a Service; `uid` is absent when it is not known. */
export function serviceReference(service: ServiceKey, uid?: string): ObjectReference {
  const [namespace, name = ''] = service.split('/')
  return { apiVersion: 'v1', kind: 'Service', name, namespace, uid: uid || undefined }
}

/** Refers to a Node. Its name is the uid, as in the Events of kubelet. */
export function nodeReference(name: string): ObjectReference {
  return { apiVersion: 'v1', kind: 'Node', name, namespace: undefined, uid: name }
}

/** A process of this node listens on a node port of the Service, and receives no more packets from outside. */
export function nodePortShadowsSocket(
  regarding: ObjectReference,
  port: { readonly nodePort: number; readonly protocol: Protocol },
): Warning {
  const { nodePort, protocol } = port
  return {
    regarding,
    reason: 'NodePortInUse',
    message: `A process of this node listens on ${protocol} port ${nodePort}, which is a node port of this Service: packets from outside reach the Service and no longer that process.`,
  }
}

/** A process of this node listens on an external IP of the Service that is an address of this node. */
export function externalIPShadowsSocket(
  regarding: ObjectReference,
  address: { readonly ip: IpAddress; readonly port: number; readonly protocol: Protocol },
): Warning {
  return {
    regarding,
    reason: 'ExternalIPInUse',
    message: `External IP ${address.ip} is an address of this node, where a process listens on ${address.protocol} port ${address.port}: packets reach the Service and no longer that process.`,
  }
}

/** The health check node port cannot be served on this node. The reason is that of kube-proxy. */
export function healthCheckBlocked(regarding: ObjectReference, why: string): Warning {
  return {
    regarding,
    reason: 'FailedToStartServiceHealthcheck',
    message: `The health check node port is not served on this node: ${why}.`,
  }
}

/** An object, or a part of it, is invalid, and this node does not program it. */
export function objectRejected(regarding: ObjectReference, why: string): Warning {
  return {
    regarding,
    reason: 'InvalidObject',
    message: `Not programmed on this node: ${printable(why)}`,
  }
}

/** An address has leading zeros (old objects may): this node reads it as decimal, as Kubernetes does. */
export function legacyAddress(regarding: ObjectReference, why: string): Warning {
  return {
    regarding,
    reason: 'AddressWithLeadingZeros',
    message: `Served, but other programs may read the address as octal: ${printable(why)}`,
  }
}

/** Another Service has the same frontend, and takes precedence. */
export function frontendConflict(
  regarding: ObjectReference,
  conflict: { readonly frontend: string; readonly winner: ServiceKey },
): Warning {
  return {
    regarding,
    reason: 'FrontendConflict',
    message: `${printable(conflict.frontend)} belongs to Service ${printable(conflict.winner)}, which comes first by name: it gets the traffic.`,
  }
}

/** This node does not serve an external or load balancer IP of the Service. */
export function addressRefused(
  regarding: ObjectReference,
  address: { readonly ip: string; readonly why: string },
): Warning {
  return {
    regarding,
    reason: 'AddressRefused',
    message: `${printable(address.ip)} is not served: ${printable(address.why)}.`,
  }
}

/** Escapes the control characters of ASCII as JSON does and replaces others, so that no terminal executes them. */
function printable(text: string): string {
  return JSON.stringify(text)
    .slice(1, -1)
    .replaceAll('\\"', '"')
    .replaceAll('\\\\', '\\')
    .replace(/\p{Cc}/gu, '�')
}
