import { arrayAt, type Json, type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import { type EnvironmentEntry, readEnvironment } from './environment-plan.ts'
import { type Handler, PROBE_KINDS, type ProbeKind, type ProbePlan } from './probe-plan.ts'
import { readHandler, readProbe } from './read-probe.ts'
import { readUser, type UserPlan } from './user-plan.ts'

/** How one container is run: as a process of the node, in the Pod's network namespace. */
export interface ContainerPlan {
  readonly name: string
  /** As the Pod names it; nothing is made of it. */
  readonly image: string
  /** Program and arguments, before `$(NAME)` is replaced. */
  readonly command: readonly string[]
  readonly environment: readonly EnvironmentEntry[]
  /** Empty: the root folder. */
  readonly workingDir: string
  readonly user: UserPlan
  readonly probes: Readonly<Partial<Record<ProbeKind, ProbePlan>>>
  /** What is done before SIGTERM. */
  readonly preStop: Handler | undefined
  /** Why it cannot be run as it is written; one sentence that names the field. */
  readonly fault: string | undefined
}

export interface ContainerSource {
  /** `spec.containers[0]`. */
  readonly at: string
  readonly spec: JsonObject
  /** What is wrong with the whole Pod. */
  readonly fault: string | undefined
}

export function readContainer(container: Json, origin: ContainerSource): ContainerPlan {
  const { at, spec } = origin
  const faults: string[] = origin.fault === undefined ? [] : [origin.fault]
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

/** The system's interfaces end a text at the first zero byte. */
function plainText(text: string, at: string, faults: string[]): string {
  if (text.includes('\0')) faults.push(`${at} must not hold a zero byte`)
  return text
}
