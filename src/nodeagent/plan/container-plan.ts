import { posix } from 'node:path'
import {
  arrayAt,
  type Json,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import {
  type EnvironmentEntry,
  type EnvironmentSource,
  readEnvironment,
  readEnvironmentSources,
} from './environment-plan.ts'
import { mountPathFault, pathFault, type VolumePlan } from './volume-plan.ts'

/** One day: the limit for all times of a probe. */
const MAX_SECONDS = 86_400

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1'])

/** How one container is run: as a process of the node, in the Pod's network namespace. */
export interface ContainerPlan {
  readonly name: string
  /** The image that the Pod names. It is only shown in the status. */
  readonly image: string
  /** Program and arguments, before `$(NAME)` is replaced. */
  readonly command: readonly string[]
  readonly environment: readonly EnvironmentEntry[]
  /** `envFrom`. */
  readonly environmentSources: readonly EnvironmentSource[]
  readonly mounts: readonly MountPlan[]
  /** Empty: the root folder. */
  readonly workingDir: string
  readonly user: UserPlan
  readonly probes: Readonly<Partial<Record<ProbeKind, ProbePlan>>>
  /** The hook that the node agent runs before SIGTERM. */
  readonly preStop: Handler | undefined
  /** Why the container cannot be run as specified: the first fault, as one sentence that names the field. */
  readonly fault: string | undefined
}

/** The Pod that a container belongs to. */
interface ContainerSource {
  /** The path of the container: `spec.containers[0]`. */
  readonly at: string
  /** `spec` of the Pod. */
  readonly spec: JsonObject
  readonly volumes: readonly VolumePlan[]
  /** Why no container of the Pod can be run; takes precedence over faults of the container. */
  readonly fault: string | undefined
}

/** Reads one entry of `spec.containers`. */
export function readContainer(container: Json, pod: ContainerSource): ContainerPlan {
  const { at, spec } = pod
  const faults: string[] = pod.fault === undefined ? [] : [pod.fault]
  const source = { container, at, faults, hostNetwork: valueAt(spec, 'hostNetwork') === true }
  const probes: Partial<Record<ProbeKind, ProbePlan>> = {}
  for (const kind of PROBE_KINDS) {
    const probe = readProbe(kind, source)
    if (probe !== undefined) probes[kind] = probe
  }
  const preStop = objectAt(container, 'lifecycle', 'preStop')
  return {
    name: stringAt(container, 'name'),
    image: stringAt(container, 'image'),
    command: readCommand(container, at, faults),
    environment: readEnvironment(container, at, faults),
    environmentSources: readEnvironmentSources(container, at, faults),
    mounts: readMounts({ container, at, volumes: pod.volumes, faults }),
    workingDir: plainText(stringAt(container, 'workingDir'), `${at}.workingDir`, faults),
    user: readUser(container, spec, faults),
    probes,
    preStop:
      Object.keys(preStop).length === 0
        ? undefined
        : readHandler(preStop, `${at}.lifecycle.preStop`, source),
    fault: faults[0],
  }
}

function readCommand(container: Json, at: string, faults: string[]): readonly string[] {
  const words = (key: string): readonly string[] =>
    arrayAt(container, key).map((word, index) => {
      const path = `${at}.${key}[${index}]`
      if (typeof word === 'string') return plainText(word, path, faults)
      faults.push(`${path} must be a string`)
      return ''
    })
  const command = words('command')
  const [program = ''] = command
  if (program === '') faults.push(`${at}.command is missing: this node agent runs no images`)
  return [...command, ...words('args')]
}

/** The text, and a fault if it contains a zero byte: system calls end a text there. */
function plainText(text: string, at: string, faults: string[]): string {
  if (text.includes('\0')) faults.push(`${at} must not hold a zero byte`)
  return text
}

/** The container whose probes and hooks are read. */
interface ProbeSource {
  readonly container: Json
  /** `spec.containers[0]`. */
  readonly at: string
  /** Receives the faults: one sentence each, with the path of the field. */
  readonly faults: string[]
  readonly hostNetwork: boolean
}

/** Reads one probe, with the defaults of Kubernetes; undefined when there is none, or it cannot be run (a fault). */
function readProbe(kind: ProbeKind, source: ProbeSource): ProbePlan | undefined {
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
function readHandler(
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

/** The user and group of a container; undefined: those of the node agent. */
export interface UserPlan {
  readonly uid: number | undefined
  readonly gid: number | undefined
  /** Supplementary groups: `fsGroup` and `supplementalGroups` of the Pod. */
  readonly groups: readonly number[]
}

const MAX_ID = 2 ** 31 - 1

/**
 * Reads `runAsUser`, `runAsGroup` and `runAsNonRoot`, each from the `securityContext` of the container, or else
 * of the Pod, and the groups of the Pod. Adds problems to `faults`.
 */
function readUser(container: Json, spec: JsonObject, faults: string[]): UserPlan {
  const read = (key: string): Json | undefined =>
    valueAt(container, 'securityContext', key) ?? valueAt(spec, 'securityContext', key)
  const checked = (value: Json | undefined, key: string): number | undefined => {
    if (value === undefined || isId(value)) return value
    faults.push(`securityContext.${key} must be a user or group id`)
    return undefined
  }
  const id = (key: string): number | undefined => checked(read(key), key)
  const [uid, gid] = [id('runAsUser'), id('runAsGroup')]
  if (read('runAsNonRoot') === true && (uid ?? 0) === 0) {
    faults.push('securityContext.runAsNonRoot: set runAsUser to another user than 0')
  }
  const fsGroup = checked(valueAt(spec, 'securityContext', 'fsGroup'), 'fsGroup')
  const others = arrayAt(spec, 'securityContext', 'supplementalGroups').map((value) =>
    checked(value, 'supplementalGroups'),
  )
  const groups = [fsGroup, ...others].filter((group) => group !== undefined)
  return { uid, gid, groups: [...new Set(groups)] }
}

/** `fsGroup` of a Pod; an invalid one is a fault of its containers. */
export function readGroup(spec: JsonObject): number | undefined {
  const group = valueAt(spec, 'securityContext', 'fsGroup')
  return isId(group) ? group : undefined
}

function isId(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_ID
}

/** `startup` is the probe in the field `startupProbe`, and so on. */
export type ProbeKind = 'startup' | 'liveness' | 'readiness'

/** All of them. */
export const PROBE_KINDS = ['startup', 'liveness', 'readiness'] as const

/** What a probe or a hook does: runs a command in the container, or connects to the Pod, never to other hosts. */
export type Handler =
  | { readonly kind: 'exec'; readonly command: readonly string[] }
  /** `host`: empty for the Pod's address. */
  | { readonly kind: 'tcp'; readonly port: number; readonly host: string }
  | {
      readonly kind: 'http'
      readonly port: number
      /** Empty: the Pod's address. */
      readonly host: string
      /** HTTPS, with any certificate. */
      readonly isSecure: boolean
      readonly path: string
      readonly headers: readonly (readonly [name: string, value: string])[]
    }

/** A probe of a container. */
export interface ProbePlan {
  readonly handler: Handler
  /** From the start of the container to the first probe. */
  readonly initialDelayMs: number
  readonly periodMs: number
  readonly timeoutMs: number
  /** The probe counts as succeeded after this many successes in a row. */
  readonly successThreshold: number
  /** The probe counts as failed after this many failures in a row. */
  readonly failureThreshold: number
  /** The time between SIGTERM and SIGKILL when this probe ends the container; undefined: that of the Pod. */
  readonly graceMs: number | undefined
}

/** A volume in the files of a container. */
export interface MountPlan {
  readonly volume: VolumePlan
  /** Absolute, without `..` and a slash at its end. */
  readonly path: string
  /** Volumes of files always are. */
  readonly isReadOnly: boolean
  /** A file or folder of the volume; empty: all of it. */
  readonly subPath: string
}

/** The container whose mounts are read. */
interface MountSource {
  readonly container: Json
  /** `spec.containers[0]`. */
  readonly at: string
  readonly volumes: readonly VolumePlan[]
  readonly faults: string[]
}

/** Reads `volumeMounts`. Those that cannot be made are added to `faults`. */
function readMounts({ container, at, volumes, faults }: MountSource): readonly MountPlan[] {
  const taken = new Set<string>()
  return arrayAt(container, 'volumeMounts').flatMap((mount, index) => {
    const field = `${at}.volumeMounts[${index}]`
    const refuse = (words: string): void => void faults.push(`${field}${words}`)
    const name = stringAt(mount, 'name')
    const volume = volumes.find((one) => one.name === name)
    const written = stringAt(mount, 'mountPath')
    const wrong = mountPathFault(written)
    const path = posix.join('/', written, '.').replace(/(.)\/$/u, '$1')
    if (volume === undefined) refuse(`.name: there is no volume ${quote(name)}`)
    if (wrong !== undefined) refuse(`.mountPath ${wrong}: ${quote(written)}`)
    else if (taken.has(path)) refuse(`.mountPath is that of another mount: ${quote(written)}`)
    taken.add(path)
    if (stringAt(mount, 'subPathExpr') !== '') refuse('.subPathExpr is not supported: use subPath')
    const subPath = stringAt(mount, 'subPath')
    const subFault = subPath === '' ? undefined : pathFault(subPath)
    if (subFault !== undefined) refuse(`.subPath ${subFault}: ${quote(subPath)}`)
    if (volume === undefined) return []
    const isEmpty = volume.kind === 'empty'
    if (isEmpty && subPath !== '') {
      refuse(
        '.subPath: processes of a Pod could replace parts of an emptyDir by links; mount it all',
      )
    }
    const isReadOnly = !isEmpty || valueAt(mount, 'readOnly') === true
    return [{ volume, path, isReadOnly, subPath }]
  })
}
