import { readPort, readPortName, readProtocol } from './port.ts'
import { present } from './present.ts'
import type { Reader } from './reader.ts'
import type { EndpointPort } from './types.ts'

/**
 * The ports of a slice or subset. One without a number means every port, which no
 * Service port can be matched with: it is left out without a word.
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
