import type { Reader } from '../../../resources/reader.ts'
import { checkAppProtocol, checkItemCount } from './checks.ts'

/** The maximum number of ports, as in Kubernetes. */
const MAX_PORTS = 20_000

/** The rules between endpoint ports, and for each port. */
export function checkEndpointPorts(object: Reader, { mayBeAny }: { mayBeAny: boolean }): void {
  const ports = object.objects('ports')
  checkItemCount(object, 'ports', MAX_PORTS)
  const names = new Set<unknown>()
  for (const port of ports) {
    const name = port.value('name') ?? ''
    if (names.has(name)) port.refuse('name', 'must differ from the names of the other ports')
    names.add(name)
    checkAppProtocol(port)
    if (!mayBeAny && port.value('port') === undefined) {
      port.refuse('port', 'must be an integer from 1 to 65535')
    }
  }
}
