import { readAllocatedPort, readPort, readPortName, readProtocol } from './port.ts'
import { present } from './present.ts'
import type { Reader } from './reader.ts'
import type { ServicePort } from './types.ts'

/** The ports of a Service that can be served; a bad node port costs only itself. */
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
