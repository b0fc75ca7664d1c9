import { addressFault, hostAddress } from '../address.ts'
import { readMetadata } from '../metadata.ts'
import { isLabel, isPortName } from '../names.ts'
import { readAllocatedPort, readPort, readProtocol } from '../port.ts'
import type { Reader } from '../reader.ts'
import { checkField, checkLabel, checkOneOf, checkSubdomain, LABEL_FAULT } from './checks.ts'

const RESTARTS = ['Always', 'OnFailure', 'Never']
const PHASES = ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown']
const PORT_NAME_FAULT = 'must be at most 15 of a-z, 0-9 and -, with a letter, such as http'

/** What endpoints are made of: containers and their ports, the node, the addresses. */
export function checkPod(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'subdomain' })
  const spec = object.object('spec')
  if (spec.list('containers').length === 0) {
    spec.refuse('containers', 'must have at least one container')
  }
  const names = new Set<unknown>()
  for (const key of ['containers', 'initContainers']) {
    for (const container of spec.objects(key)) checkContainer(container, names)
  }
  checkOneOf(spec, 'restartPolicy', RESTARTS)
  checkSubdomain(spec, 'nodeName')
  checkSubdomain(spec, 'serviceAccountName')
  checkLabel(spec, 'hostname')
  checkLabel(spec, 'subdomain')
  spec.flag('hostNetwork')
  checkStatus(object.object('status'))
}

function checkContainer(container: Reader, names: Set<unknown>): void {
  const name = container.value('name')
  if (typeof name !== 'string' || !isLabel(name)) container.refuse('name', LABEL_FAULT)
  else if (names.has(name)) container.refuse('name', 'must differ from the other containers')
  names.add(name)
  for (const port of container.objects('ports')) {
    readPort(port, 'containerPort')
    readAllocatedPort(port, 'hostPort')
    readProtocol(port)
    const isName = (value: unknown) => typeof value === 'string' && isPortName(value)
    checkField(port, 'name', isName, PORT_NAME_FAULT)
  }
}

/** A Pod becomes an endpoint: it must not point at what a node offers to itself alone. */
function checkStatus(status: Reader): void {
  checkOneOf(status, 'phase', PHASES)
  for (const [object, key] of [
    [status, 'podIP'] as const,
    ...status.objects('podIPs').map((one) => [one, 'ip'] as const),
  ]) {
    const value = object.value(key)
    const isAbsent = value === undefined || value === ''
    if (!isAbsent && hostAddress(value) === undefined) object.refuse(key, addressFault(value))
  }
}
