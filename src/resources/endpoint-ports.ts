import { readPort, readPortName, readProtocol } from './port.ts'
import type { Findings } from './problem.ts'
import { isRaw, own } from './raw.ts'
import type { EndpointPort } from './types.ts'

/** The ports of a slice or subset; one without a number (any port) is left out silently. */
export function readEndpointPorts(
  ports: readonly unknown[],
  field: string,
  findings: Findings,
): readonly EndpointPort[] {
  return ports.flatMap((raw, index) => {
    const at = `${field}[${index}]`
    if (!isRaw(raw)) {
      findings.add(at, raw, 'must be an object')
      return []
    }
    const number = own(raw, 'port')
    if (number === undefined || number === null) return []
    const name = readPortName(own(raw, 'name'), `${at}.name`, findings)
    const protocol = readProtocol(own(raw, 'protocol'), `${at}.protocol`, findings)
    const port = readPort(number, `${at}.port`, findings)
    if (name === undefined || protocol === undefined || port === undefined) return []
    return [{ name, protocol, port }]
  })
}
