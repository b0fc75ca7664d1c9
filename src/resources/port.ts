import { isLabel } from './names.ts'
import { present, type Reader } from './reader.ts'
import type { EndpointPort, Protocol, ServicePort } from './types.ts'

const PROTOCOLS: readonly Protocol[] = ['SCTP', 'TCP', 'UDP']
const PORT_LEFT_OUT = 'the port is left out'

/** Whether a value is an integer from 1 to 65535. */
export function isPort(value: unknown): value is number {
  return isIntegerIn(value, 1, 65_535)
}

/** A required port; undefined, with a finding, if the value is not a port. */
export function readPort(object: Reader, key: string): number | undefined {
  const value = object.value(key)
  if (isPort(value)) return value
  object.refuse(key, 'must be an integer from 1 to 65535', PORT_LEFT_OUT)
  return undefined
}

/** A port that the platform allocates; 0 if it is not allocated, or (with a finding) invalid. */
export function readAllocatedPort(object: Reader, key: string): number {
  const value = object.value(key)
  if (value === undefined || value === 0) return 0
  if (isPort(value)) return value
  object.refuse(key, 'must be an integer from 1 to 65535, or absent', 'none is opened')
  return 0
}

/** The protocol of a port, TCP by default; undefined, with a finding, for an unknown one. */
export function readProtocol(object: Reader): Protocol | undefined {
  const value = object.value('protocol')
  if (value === undefined || value === '') return 'TCP'
  const known = PROTOCOLS.find((protocol) => protocol === value)
  if (known === undefined) object.refuse('protocol', { supported: PROTOCOLS }, PORT_LEFT_OUT)
  return known
}

/** The name of a port, empty without one; undefined, with a finding, if the value is not a name. */
export function readPortName(object: Reader): string | undefined {
  const value = object.value('name')
  if (value === undefined || value === '') return ''
  if (typeof value === 'string' && isLabel(value)) return value
  object.refuse('name', 'must be a DNS label such as http or dns-tcp, or absent', PORT_LEFT_OUT)
  return undefined
}

/** The ports of a Service that can be served; an invalid node port does not affect the rest of its port. */
export function readServicePorts(spec: Reader): readonly ServicePort[] {
  return present(spec.objects('ports').map(readServicePort))
}

function readServicePort(object: Reader): ServicePort | undefined {
  const name = readPortName(object)
  const protocol = readProtocol(object)
  const port = readPort(object, 'port')
  const nodePort = readAllocatedPort(object, 'nodePort')
  if (name === undefined || protocol === undefined || port === undefined) return undefined
  return { name, protocol, port, nodePort }
}

/**
 * The ports of a slice or subset. A port without a number stands for every port and cannot match a Service port: it is
 * left out without a warning.
 */
export function readEndpointPorts(object: Reader): readonly EndpointPort[] {
  return present(object.objects('ports').map(readEndpointPort))
}

function readEndpointPort(object: Reader): EndpointPort | undefined {
  const name = readPortName(object)
  const protocol = readProtocol(object)
  const port = object.value('port') === undefined ? undefined : readPort(object, 'port')
  if (name === undefined || protocol === undefined || port === undefined) return undefined
  return { name, protocol, port }
}

/** Whether a value is an integer within inclusive bounds. */
export function isIntegerIn(value: unknown, least: number, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
}
