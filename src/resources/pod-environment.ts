import { hostPort } from '../lib/ip.ts'
import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  valueAt,
} from '../lib/json.ts'
import { canonicalAddress } from '../lib/legacy-address.ts'

/** An environment variable of a container. */
export interface EnvironmentVariable {
  readonly name: string
  readonly value: string
}

/** The Service of the API server itself, whose address every Pod gets. */
export const API_SERVICE_NAMESPACE = 'default'
export const API_SERVICE_NAMES: readonly string[] = ['kubernetes', 'orch']

/**
 * The environment variables by which a new Pod finds Services, as the kubelet sets them: those of the Services of its
 * namespace, unless `enableServiceLinks` is false, and always those of the API server. They are in the order of the
 * Services' names. If two variables have the same name, the later value counts, at the position of the first. The
 * generator yields before each Service (`yieldToEventLoop`), because there may be thousands.
 */
export function* podEnvironment(
  pod: JsonObject,
  services: Iterable<JsonObject>,
): Generator<undefined, readonly EnvironmentVariable[]> {
  const ownNamespace = stringAt(pod, 'metadata', 'namespace')
  const isLinked = valueAt(pod, 'spec', 'enableServiceLinks') !== false
  const visible = new Map<string, JsonObject>()
  for (const service of services) {
    yield
    if (!hasAddress(service)) continue
    const name = stringAt(service, 'metadata', 'name')
    const namespace = stringAt(service, 'metadata', 'namespace')
    const isOwn = isLinked && namespace === ownNamespace
    const isMaster = namespace === API_SERVICE_NAMESPACE && API_SERVICE_NAMES.includes(name)
    if (isOwn || (isMaster && !visible.has(name))) visible.set(name, service)
  }
  const ordered = [...visible].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const variables = new Map<string, string>()
  for (const [name, service] of ordered) {
    yield
    for (const [variable, value] of variablesOf(name, service)) variables.set(variable, value)
  }
  return [...variables].map(([name, value]) => ({ name, value }))
}

type Variable = readonly [name: string, value: string]

function hasAddress(service: JsonObject): boolean {
  const isName = stringAt(service, 'spec', 'type') === 'ExternalName'
  return !isName && !['', 'None'].includes(stringAt(service, 'spec', 'clusterIP'))
}

function variablesOf(name: string, service: JsonObject): readonly Variable[] {
  const prefix = variableName(name)
  const spec = objectAt(service, 'spec')
  // Programs may read leading zeros as octal.
  const ip = canonicalAddress(stringAt(spec, 'clusterIP'))
  const ports = arrayAt(spec, 'ports').filter(isJsonObject)
  const named = ports.filter((port) => stringAt(port, 'name') !== '')
  return [
    [`${prefix}_SERVICE_HOST`, ip],
    ...ports.slice(0, 1).map((port): Variable => [`${prefix}_SERVICE_PORT`, numberOf(port)]),
    ...named.map((port): Variable => {
      return [`${prefix}_SERVICE_PORT_${variableName(stringAt(port, 'name'))}`, numberOf(port)]
    }),
    ...ports.flatMap((port, index) => portVariables(prefix, ip, port, index)),
  ]
}

/** The variables that container links set in the past, and that programs still read. */
function portVariables(
  service: string,
  ip: string,
  port: JsonObject,
  index: number,
): readonly Variable[] {
  const protocol = stringAt(port, 'protocol') || 'TCP'
  const number = numberOf(port)
  const prefix = `${service}_PORT_${number}_${protocol.toUpperCase()}`
  const url = `${protocol.toLowerCase()}://${hostPort(ip, Number(number))}`
  return [
    ...(index === 0 ? [[`${service}_PORT`, url] as const] : []),
    [prefix, url],
    [`${prefix}_PROTO`, protocol.toLowerCase()],
    [`${prefix}_PORT`, number],
    [`${prefix}_ADDR`, ip],
  ]
}

function numberOf(port: JsonObject): string {
  return scalarText(valueAt(port, 'port'))
}

function variableName(name: string): string {
  return name.toUpperCase().replaceAll('-', '_')
}
