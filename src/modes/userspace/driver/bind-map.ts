import type { ServiceKey } from '../../../forwarding/entry.ts'
import { hostPort } from '../../../lib/ip.ts'
import { isLabel } from '../../../resources/names.ts'
import { parseSocketAddress, splitCommas } from '../../../settings/network-types.ts'
import {
  accept,
  type Decoded,
  MAX_ITEMS,
  type Raw,
  refuse,
  type ValueType,
} from '../../../settings/value-type.ts'
import type { Binding } from './configuration.ts'

const EXAMPLE = '127.0.0.1:8080=shop/cart:http or [::1]:5353=orch-system/dns:dns/UDP'
const REMEDY = `write ADDRESS=SERVICE, such as ${EXAMPLE}`
const PROTOCOLS = ['TCP', 'UDP'] as const

/** Several bindings: a list in the file; in flags separated by commas, or as a repeated flag. */
export const bindMap: ValueType<readonly Binding[]> = {
  name: 'list of ADDRESS=NAMESPACE/NAME[:PORT][/TCP|UDP]',
  schema: {
    type: 'array',
    items: { type: 'string', pattern: '^[^=]+=[^/]+/[^/]+(/(TCP|UDP))?$' },
    maxItems: MAX_ITEMS,
  },
  isList: true,
  decode: (raw) => (Array.isArray(raw) ? decodeBindings(raw) : refuse(`write a list: ${REMEDY}`)),
  fromFlag: (text) => decodeBindings(splitCommas(text)),
  encode: (value) => value.map(describeBinding),
}

/** As it is written: `127.0.0.1:8080=shop/cart:http`, with `/UDP` where it is not TCP. */
export function describeBinding({ ip, port, service, portRef, protocol }: Binding): string {
  const suffix = portRef === undefined ? '' : `:${portRef}`
  return `${hostPort(ip, port)}=${service}${suffix}${protocol === 'TCP' ? '' : `/${protocol}`}`
}

function decodeBindings(list: readonly Raw[]): Decoded<readonly Binding[]> {
  const bindings = new Map<string, Binding>()
  for (const [at, item] of list.entries()) {
    const part = `[${at}]`
    const decoded = typeof item === 'string' ? decodeBinding(item) : refuse(REMEDY)
    if (!decoded.ok) return refuse(decoded.remedy, part)
    const { ip, port, protocol } = decoded.value
    const address = `${hostPort(ip, port)}/${protocol}`
    if (bindings.has(address)) {
      return refuse(`${address} is given twice: give each Service its own`, part)
    }
    bindings.set(address, decoded.value)
  }
  return accept([...bindings.values()])
}

function decodeBinding(text: string): Decoded<Binding> {
  const at = text.indexOf('=')
  if (at < 0) return refuse(REMEDY)
  const address = parseSocketAddress(text.slice(0, at))
  if (address === undefined) {
    return refuse('write an IP address and a port from 1 to 65535 before the =, as in 127.0.0.1:80')
  }
  const service = decodeService(text.slice(at + 1))
  return service.ok ? accept({ ...address, ...service.value }) : service
}

/** `namespace/name`, then perhaps `:port`, then perhaps `/protocol`. */
function decodeService(text: string): Decoded<Omit<Binding, 'ip' | 'port'>> {
  const [namespace = '', rest = '', suffix, ...more] = text.split('/')
  const [name = '', portRef, ...others] = rest.split(':')
  const protocol = suffix === undefined ? 'TCP' : PROTOCOLS.find((one) => one === suffix)
  if (!isLabel(namespace) || !isLabel(name) || more.length + others.length > 0) {
    return refuse('name the Service after the = as NAMESPACE/NAME or NAMESPACE/NAME:PORT')
  }
  if (portRef !== undefined && !isPortRef(portRef)) {
    return refuse('write the name or the number of a port of the Service after the colon')
  }
  if (protocol === undefined) return refuse('end with /TCP, /UDP or neither, which means TCP')
  const service = `${namespace}/${name}` as ServiceKey
  return accept({ service, protocol, ...(portRef !== undefined && { portRef }) })
}

/** A port name of the API is a label with a letter in it, so that no number is one. */
function isPortRef(text: string): boolean {
  if (!/^[0-9]+$/.test(text)) return isLabel(text)
  return /^[1-9][0-9]{0,4}$/.test(text) && Number(text) <= 65_535
}
