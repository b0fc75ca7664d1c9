import { isPortName } from '../../../resources/names.ts'
import { isPort } from '../../../resources/port.ts'
import type { Reader } from '../../../resources/reader.ts'
import { checkAppProtocol } from '../shared/checks.ts'

/** The rules between the ports of a Service, and for each port. */
export function checkServicePorts(spec: Reader): void {
  const ports = spec.objects('ports')
  const given = spec.value('ports') ?? []
  if (Array.isArray(given) && given.length === 0 && needsPorts(spec)) {
    spec.refuse('ports', 'must have at least one port')
  }
  const seen = new Set<string>()
  for (const port of ports) {
    checkName(port, ports.length > 1)
    checkTargetPort(port)
    checkAppProtocol(port)
    refuseRepeated(port, 'name', seen)
    refuseRepeated(port, 'port', seen)
    refuseRepeated(port, 'nodePort', seen)
  }
}

function needsPorts(spec: Reader): boolean {
  return spec.value('type') !== 'ExternalName' && spec.value('clusterIP') !== 'None'
}

function checkName(port: Reader, required: boolean): void {
  const name = port.value('name')
  if (required && (name === undefined || name === '')) {
    port.refuse('name', 'must be given when there are several ports')
  }
}

/** A container's port or the name of one, which is an IANA service name (RFC 6335). */
function checkTargetPort(port: Reader): void {
  const target = port.value('targetPort')
  if (target === undefined || isPort(target)) return
  if (typeof target === 'string' && isPortName(target)) return
  port.refuse(
    'targetPort',
    'must be from 1 to 65535, or the name of a container port (a-z, 0-9, -)',
  )
}

/** Refuses repeated values: names must be unique, numbers unique for each protocol. */
function refuseRepeated(port: Reader, key: 'name' | 'port' | 'nodePort', seen: Set<string>): void {
  const value = port.value(key)
  if (value === undefined || value === '' || value === 0) return
  const protocol = key === 'name' ? '' : (port.value('protocol') ?? 'TCP')
  const id = JSON.stringify([key, value, protocol])
  if (seen.has(id)) port.refuse(key, { isDuplicate: true, other: OTHERS[key] })
  seen.add(id)
}

const OTHERS = {
  name: 'the names of the other ports',
  port: 'the other ports of the same protocol',
  nodePort: 'the other node ports of the same protocol',
} as const
