import type { IpAddress } from '../../lib/ip.ts'
import { hostPort } from '../../lib/ip.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { ServiceObject, ServicePortObject } from '../objects/service-object.ts'
import { isHeadless } from '../objects/service-object.ts'

export interface EnvironmentVariable {
  readonly name: string
  readonly value: string
}

/** The API server's own Services, which every Pod is told of: ours and the ecosystem's name. */
const MASTER_NAMESPACE = 'default'
const MASTERS: ReadonlySet<string> = new Set(['orch', 'kubernetes'])

/**
 * The environment variables by which a Pod that starts now finds Services: those
 * of its namespace unless it declines (`enableServiceLinks`), and always the API
 * server's. In the order of the Services' names; of two variables with the same
 * name the later one counts, at the place of the first.
 */
export function environmentOf(
  pod: PodObject,
  services: Iterable<ServiceObject>,
): readonly EnvironmentVariable[] {
  const visible = new Map<string, ServiceObject>()
  for (const service of services) {
    const { name, namespace } = service.meta
    if (isHeadless(service) || service.externalName) continue
    const isOwn = pod.enableServiceLinks && namespace === pod.meta.namespace
    const isMaster = namespace === MASTER_NAMESPACE && MASTERS.has(name)
    if (isOwn || (isMaster && !visible.has(name))) visible.set(name, service)
  }
  const ordered = [...visible.values()].toSorted((a, b) => (a.meta.name < b.meta.name ? -1 : 1))
  const variables = new Map(ordered.flatMap(variablesOf))
  return [...variables].map(([name, value]) => ({ name, value }))
}

type Variable = readonly [name: string, value: string]

function variablesOf(service: ServiceObject): readonly Variable[] {
  const prefix = spelled(service.meta.name)
  const { clusterIP, ports } = service
  const named = ports.filter(({ name }) => name !== '')
  return [
    [`${prefix}_SERVICE_HOST`, clusterIP],
    ...ports.slice(0, 1).map(({ port }): Variable => [`${prefix}_SERVICE_PORT`, String(port)]),
    ...named.map(({ name, port }): Variable => {
      return [`${prefix}_SERVICE_PORT_${spelled(name)}`, String(port)]
    }),
    ...ports.flatMap((port, index) => portVariables(prefix, clusterIP, port, index)),
  ]
}

/** What container links once set, and programs still read. */
function portVariables(
  service: string,
  ip: string,
  { port, protocol }: ServicePortObject,
  index: number,
): readonly Variable[] {
  const prefix = `${service}_PORT_${port}_${protocol.toUpperCase()}`
  const url = `${protocol.toLowerCase()}://${hostPort(ip as IpAddress, port)}`
  return [
    ...(index === 0 ? [[`${service}_PORT`, url] as const] : []),
    [prefix, url],
    [`${prefix}_PROTO`, protocol.toLowerCase()],
    [`${prefix}_PORT`, String(port)],
    [`${prefix}_ADDR`, ip],
  ]
}

function spelled(name: string): string {
  return name.toUpperCase().replaceAll('-', '_')
}
