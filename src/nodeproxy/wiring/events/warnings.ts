import type { IpAddress } from '../../../lib/ip.ts'
import type { ObjectReference } from '../../../resources/core-event.ts'
import type { Protocol, ServiceKey } from '../../../resources/types.ts'

/** A problem for the owner of an object, sent as an Event. */
export interface Warning {
  readonly regarding: ObjectReference
  /** UpperCamelCase. Never changes, because operators select Events by it. */
  readonly reason: string
  readonly message: string
}

/** The reference of an Event to a Service. */
export function serviceReference(service: ServiceKey, uid?: string): ObjectReference {
  const [namespace, name = ''] = service.split('/')
  return { apiVersion: 'v1', kind: 'Service', name, namespace, uid: uid || undefined }
}

/** The reference of an Event to a Node, whose uid is its name, as the kubelet writes it. */
export function nodeReference(name: string): ObjectReference {
  return { apiVersion: 'v1', kind: 'Node', name, namespace: undefined, uid: name }
}

/** A process of this node listens on a port whose traffic the Service now takes. */
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

/** A process of this node listens on an external IP that is the node's own address. */
export function externalIPShadowsSocket(
  regarding: ObjectReference,
  socket: { readonly ip: IpAddress; readonly port: number; readonly protocol: Protocol },
): Warning {
  return {
    regarding,
    reason: 'ExternalIPInUse',
    message: `External IP ${socket.ip} is an address of this node, where a process listens on ${socket.protocol} port ${socket.port}: packets reach the Service and no longer that process.`,
  }
}

/** The health check node port cannot be served here. */
export function healthCheckBlocked(regarding: ObjectReference, why: string): Warning {
  return {
    regarding,
    reason: 'FailedToStartServiceHealthcheck',
    message: `The health check node port is not served on this node: ${why}.`,
  }
}

/** An object, or a part of it, that was refused while decoding. */
export function objectRejected(regarding: ObjectReference, why: string): Warning {
  return {
    regarding,
    reason: 'InvalidObject',
    message: `Not programmed on this node: ${printable(why)}`,
  }
}

/** An address of an old object, which this node reads as Kubernetes does; other programs may not. */
export function legacyAddress(regarding: ObjectReference, why: string): Warning {
  return {
    regarding,
    reason: 'AddressWithLeadingZeros',
    message: `Served, but other programs may read the address as octal: ${printable(why)}`,
  }
}

/** Another Service has the same frontend. */
export function frontendConflict(
  regarding: ObjectReference,
  claim: { readonly frontend: string; readonly winner: ServiceKey },
): Warning {
  return {
    regarding,
    reason: 'FrontendConflict',
    message: `${printable(claim.frontend)} belongs to Service ${printable(claim.winner)}, which comes first by name: it gets the traffic.`,
  }
}

/** An external or load balancer IP that is not captured. */
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

/** Escapes control characters as JSON does, so that no terminal interprets them. */
function printable(text: string): string {
  return JSON.stringify(text)
    .slice(1, -1)
    .replaceAll('\\"', '"')
    .replaceAll('\\\\', '\\')
    .replace(/\p{Cc}/gu, '�')
}
