import type { IpAddress } from '../../lib/ip.ts'
import { stringAt } from '../../lib/json.ts'
import type { ContainerPlan } from './container-plan.ts'
import { expand } from './expand.ts'
import type { PodPlan } from './pod-plan.ts'

/** What the environment of a container contains and only a Pod that runs on a node has. */
export interface RuntimeValues {
  readonly podIPs: readonly IpAddress[]
  readonly hostIP: string
  /** The variables of Services, `WEB_SERVICE_HOST` and so on. */
  readonly services: readonly { readonly name: string; readonly value: string }[]
}

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The limit of the kernel for arguments and environment of a program, in bytes; characters are counted. */
const MAX_LENGTH = 2 << 20

/**
 * The environment of a container: a default PATH, the Pod's name as HOSTNAME, the variables of Services, then
 * its own `env`, whose later entries may use earlier ones. Nothing of the node
 * agent's own environment is in it.
 * @throws RangeError when it is too long for the kernel
 */
export function containerEnvironment(
  pod: PodPlan,
  container: ContainerPlan,
  runtime: RuntimeValues,
): ReadonlyMap<string, string> {
  const variables = new Map([
    ['PATH', PATH],
    ['HOSTNAME', pod.name],
    ...runtime.services.map(({ name, value }) => [name, value] as const),
  ])
  let length = 0
  for (const entry of container.environment) {
    const value =
      'field' in entry ? fieldValue(entry.field, pod, runtime) : expand(entry.value, variables)
    variables.set(entry.name, value)
    length += entry.name.length + value.length
    if (length > MAX_LENGTH) throw new RangeError(`env grows beyond ${MAX_LENGTH} bytes`)
  }
  return variables
}

/** The value of a `fieldRef`. Every `field` that `readEnvironment` accepts has one, which may be empty. */
function fieldValue(field: string, pod: PodPlan, { podIPs, hostIP }: RuntimeValues): string {
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
