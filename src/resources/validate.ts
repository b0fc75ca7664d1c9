import { decodeEndpointSlice } from './endpoint-slice.ts'
import { decodeEndpoints } from './endpoints.ts'
import { decodeNode } from './node.ts'
import { readMetadata } from './metadata.ts'
import { type Decoded, Findings, type Problem } from './problem.ts'
import { child, isRaw, list, own, type Raw } from './raw.ts'
import { decodeService } from './service.ts'

const DECODERS: Readonly<Record<string, (raw: unknown) => Decoded<unknown>>> = {
  Service: decodeService,
  Endpoints: decodeEndpoints,
  EndpointSlice: decodeEndpointSlice,
  Node: decodeNode,
}

const CLUSTER_SCOPED: ReadonlySet<string> = new Set(['Node', 'Namespace'])

/**
 * Why an object may not be written; empty when it may. Stricter than decoding:
 * what a node would leave out with a warning, the API server refuses.
 */
export function validateObject(kind: string, raw: Raw): readonly Problem[] {
  const decode = Object.hasOwn(DECODERS, kind) ? DECODERS[kind] : undefined
  const found = decode ? problemsOf(decode(raw)) : validateMetadata(kind, raw)
  return kind === 'Service' ? [...found, ...validateService(raw)] : found
}

function problemsOf(decoded: Decoded<unknown>): readonly Problem[] {
  return decoded.ok ? decoded.warnings : decoded.problems
}

function validateMetadata(kind: string, raw: Raw): readonly Problem[] {
  const findings = new Findings()
  const name = kind === 'Namespace' ? 'label' : 'subdomain'
  readMetadata(raw, { namespaced: !CLUSTER_SCOPED.has(kind), name }, findings)
  return findings.all
}

/** Rules between fields, which a node does not need to care about. */
function validateService(raw: Raw): readonly Problem[] {
  const findings = new Findings()
  const spec = child(raw, 'spec')
  const type = own(spec, 'type')
  const ports = list(spec, 'ports').filter(isRaw)
  const headless = own(spec, 'clusterIP') === 'None'
  if (ports.length === 0 && type !== 'ExternalName' && !headless) {
    findings.add('spec.ports', own(spec, 'ports'), 'must have at least one port')
  }
  if (type === 'ExternalName' && typeof own(spec, 'externalName') !== 'string') {
    findings.add('spec.externalName', own(spec, 'externalName'), 'must be a DNS name')
  }
  const seen = { names: new Set<unknown>(), ports: new Set<string>() }
  for (const [index, port] of ports.entries()) {
    const at = `spec.ports[${index}]`
    const name = own(port, 'name') ?? ''
    const number = `${String(own(port, 'port'))}/${String(own(port, 'protocol') ?? 'TCP')}`
    if (name === '' && ports.length > 1) findings.add(`${at}.name`, name, 'must be given when there are several ports')
    else if (seen.names.has(name)) findings.add(`${at}.name`, name, 'must differ from the other ports\' names')
    if (seen.ports.has(number)) findings.add(`${at}.port`, number, 'must differ from the other ports of this protocol')
    seen.names.add(name)
    seen.ports.add(number)
  }
  return findings.all
}
