import type { IpAddress } from '../../../lib/ip.ts'
import { type JsonObject, stringAt } from '../../../lib/json.ts'
import { decodeNode } from '../../../resources/node.ts'

/** An address with the names that the API has for it. */
export interface NamedEnd {
  readonly ip: IpAddress
  /** `namespace/name`; absent: no Pod has it, or which one is not known. */
  readonly pod?: string
  readonly node?: string
  readonly zone?: string
}

/** The objects that addresses are named from. */
export interface KnownObjects {
  readonly nodes: readonly JsonObject[]
  /** By the addresses that they have for themselves. */
  readonly pods: ReadonlyMap<IpAddress, JsonObject>
}

/** Names an address. `node`: where no Pod says which. */
export function nameEnd(ip: IpAddress, known: KnownObjects, node = ''): NamedEnd {
  return { ip, ...nameOf(known.pods.get(ip), known, node) }
}

/** The names of a Pod and its node; of `node` where no Pod says which. */
export function nameOf(
  pod: JsonObject | undefined,
  known: KnownObjects,
  node = '',
): Omit<NamedEnd, 'ip'> {
  const on = stringAt(pod, 'spec', 'nodeName') || node
  const zone = zoneOf(on, known)
  return {
    ...(pod === undefined ? {} : { pod: objectKey(pod) }),
    ...(on === '' ? {} : { node: on }),
    ...(zone === undefined ? {} : { zone }),
  }
}

/** `namespace/name` of an object. */
export function objectKey(object: JsonObject): string {
  return `${stringAt(object, 'metadata', 'namespace')}/${stringAt(object, 'metadata', 'name')}`
}

/** The zone of a node; undefined: it has none, or the node is not known. */
function zoneOf(name: string, { nodes }: Pick<KnownObjects, 'nodes'>): string | undefined {
  const node = nodes.find((one) => stringAt(one, 'metadata', 'name') === name)
  const decoded = node === undefined ? undefined : decodeNode(node)
  return decoded?.ok === true ? decoded.value.zone : undefined
}
