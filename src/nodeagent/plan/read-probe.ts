import {
  arrayAt,
  type Json,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import type { Handler, ProbeKind, ProbePlan } from './probe-plan.ts'

/** The container whose probes and hooks are read. */
export interface ProbeSource {
  readonly container: Json
  /** `spec.containers[0]`. */
  readonly at: string
  /** Receives what cannot be run: one sentence each, with the path of the field. */
  readonly faults: string[]
  readonly hostNetwork: boolean
}

/** One day: the limit for all times of a probe. */
const MAX_SECONDS = 86_400

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1'])

/** Reads one probe, with the defaults of Kubernetes; undefined when there is none, or it cannot be run (a fault). */
export function readProbe(kind: ProbeKind, source: ProbeSource): ProbePlan | undefined {
  const probe = objectAt(source.container, `${kind}Probe`)
  if (Object.keys(probe).length === 0) return undefined
  const handler = readHandler(probe, `${source.at}.${kind}Probe`, source)
  if (handler === undefined) return undefined
  const count = (key: string, otherwise: number): number => {
    const value = valueAt(probe, key)
    return typeof value === 'number' && value >= 1 ? value : otherwise
  }
  const milliseconds = (key: string, otherwise: number): number =>
    1000 * Math.min(count(key, otherwise), MAX_SECONDS)
  const grace = valueAt(probe, 'terminationGracePeriodSeconds')
  return {
    handler,
    initialDelayMs: milliseconds('initialDelaySeconds', 0),
    periodMs: milliseconds('periodSeconds', 10),
    timeoutMs: milliseconds('timeoutSeconds', 1),
    successThreshold: count('successThreshold', 1),
    failureThreshold: count('failureThreshold', 3),
    graceMs: typeof grace === 'number' && grace > 0 ? 1000 * grace : undefined,
  }
}

/** Reads `exec`, `tcpSocket` or `httpGet` of the probe or hook at the path `at`; anything else is a fault. */
export function readHandler(
  probeOrHook: JsonObject,
  at: string,
  source: ProbeSource,
): Handler | undefined {
  const command = arrayAt(probeOrHook, 'exec', 'command').map(scalarText)
  if (command.length > 0) {
    if (command.some((word) => word.includes('\0'))) {
      source.faults.push(`${at}.exec.command must not hold a zero byte`)
    }
    return { kind: 'exec', command }
  }
  const isHttp = valueAt(probeOrHook, 'httpGet') !== undefined
  const key = isHttp ? 'httpGet' : 'tcpSocket'
  const target = valueAt(probeOrHook, key)
  if (target === undefined) {
    source.faults.push(`${at} must be one of exec, httpGet and tcpSocket`)
    return undefined
  }
  const port = portNumber(source.container, valueAt(target, 'port'))
  if (port === undefined) {
    source.faults.push(`${at}.${key}.port must be a port, or the name of one of the container's`)
    return undefined
  }
  const host = readHost(target, `${at}.${key}.host`, source)
  return isHttp ? httpHandler(target, port, host) : { kind: 'tcp', port, host }
}

function httpHandler(target: Json, port: number, host: string): Handler {
  const path = stringAt(target, 'path')
  return {
    kind: 'http',
    port,
    host,
    isSecure: stringAt(target, 'scheme').toUpperCase() === 'HTTPS',
    path: path.startsWith('/') ? path : `/${path}`,
    headers: arrayAt(target, 'httpHeaders').map((header) => {
      return [stringAt(header, 'name'), stringAt(header, 'value')] as const
    }),
  }
}

/** Any other host than the Pod is a fault: a user who may create Pods must not reach other hosts from the node. */
function readHost(target: Json, at: string, { faults, hostNetwork }: ProbeSource): string {
  const host = stringAt(target, 'host')
  if (host === '' || (hostNetwork && LOOPBACK.has(host))) return host
  faults.push(`${at}: this node agent probes only the Pod itself`)
  return ''
}

/** A port by its number, or by its name in `ports` of the container; undefined when there is no such port. */
function portNumber(container: Json, port: Json | undefined): number | undefined {
  const named = arrayAt(container, 'ports').find((one) => stringAt(one, 'name') === port)
  const value = typeof port === 'string' ? (valueAt(named, 'containerPort') ?? port) : port
  const number = Number(value ?? Number.NaN)
  return Number.isInteger(number) && number >= 1 && number <= 65_535 ? number : undefined
}
