import type { IpAddress } from '../../lib/ip.ts'
import { stringAt } from '../../lib/json.ts'
import type { ContainerPlan } from './container-plan.ts'
import { expand } from './expand.ts'
import type { PodPlan } from './pod-plan.ts'

/** What is known only once a Pod runs on a node. */
export interface Circumstances {
  readonly podIPs: readonly IpAddress[]
  readonly hostIP: string
  /** Variables by which it finds Services. */
  readonly services: readonly { readonly name: string; readonly value: string }[]
}

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** What the kernel takes as arguments and environment of a program, in bytes. */
const MAX_LENGTH = 2 << 20

/**
 * The environment of a container: a usual PATH and its host name, Services, then
 * its own `env`, whose later entries may use earlier ones. Nothing of the node
 * agent's own environment is in it.
 * @throws RangeError when the kernel would not take it
 */
export function containerEnvironment(
  pod: PodPlan,
  container: ContainerPlan,
  circumstances: Circumstances,
): ReadonlyMap<string, string> {
  const variables = new Map([
    ['PATH', PATH],
    ['HOSTNAME', pod.name],
    ...circumstances.services.map(({ name, value }) => [name, value] as const),
  ])
  let length = 0
  for (const entry of container.environment) {
    const value =
      'field' in entry
        ? fieldValue(entry.field, pod, circumstances)
        : expand(entry.value, variables)
    variables.set(entry.name, value)
    length += entry.name.length + value.length
    if (length > MAX_LENGTH) throw new RangeError(`env grows beyond ${MAX_LENGTH} bytes`)
  }
  return variables
}

function fieldValue(field: string, pod: PodPlan, { podIPs, hostIP }: Circumstances): string {
  const [, map, key = ''] = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(field) ?? []
  if (map !== undefined) return stringAt(map === 'labels' ? pod.labels : pod.annotations, key)
  const values = new Map<string, string>([
    ['metadata.name', pod.name],
    ['metadata.namespace', pod.namespace],
    ['metadata.uid', pod.uid],
    ['spec.nodeName', pod.nodeName],
    ['spec.serviceAccountName', pod.serviceAccountName],
    ['status.hostIP', hostIP],
    ['status.podIP', podIPs[0] ?? ''],
    ['status.podIPs', podIPs.join(',')],
  ])
  return values.get(field) ?? ''
}
