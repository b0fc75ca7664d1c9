import { arrayAt, type Json, type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import {
  type EnvironmentEntry,
  type EnvironmentSource,
  readEnvironment,
  readEnvironmentSources,
} from './environment-plan.ts'
import { type MountPlan, readMounts } from './mount-plan.ts'
import { type Handler, PROBE_KINDS, type ProbeKind, type ProbePlan } from './probe-plan.ts'
import { readHandler, readProbe } from './read-probe.ts'
import { readUser, type UserPlan } from './user-plan.ts'
import type { VolumePlan } from './volume-plan.ts'

/** How one container is run: as a process of the node, in the Pod's network namespace. */
export interface ContainerPlan {
  readonly name: string
  /** As the Pod names it. It is only shown in the status. */
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
  /** What the node agent does before SIGTERM. */
  readonly preStop: Handler | undefined
  /** Why it cannot be run as it is written: the first fault, one sentence that names the field. */
  readonly fault: string | undefined
}

/** The Pod that a container belongs to. */
export interface ContainerSource {
  /** The path of the container: `spec.containers[0]`. */
  readonly at: string
  /** `spec` of the Pod. */
  readonly spec: JsonObject
  readonly volumes: readonly VolumePlan[]
  /** Why nothing of the Pod can be run; it comes before those of the container. */
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
