import { quote } from '../../lib/quote.ts'
import type { ContainerPlan } from './container-plan.ts'
import { type EnvironmentEntry, isVariableName, type ObjectReference } from './environment-plan.ts'
import { fieldValue, type PodLocation } from './pod-field.ts'
import type { PodPlan } from './pod-plan.ts'

/** The values in the environment of a container that are known only when the Pod runs on a node. */
export interface RuntimeValues extends PodLocation {
  /** The variables of Services, `WEB_SERVICE_HOST` and so on. */
  readonly services: readonly { readonly name: string; readonly value: string }[]
  /** The values of a ConfigMap or Secret by key; undefined: the object does not exist. */
  readonly valuesOf: (object: ObjectReference) => ReadonlyMap<string, string> | undefined
}

/** The environment of a container, or the problem of a reference that prevents its start. */
type ContainerEnvironment =
  | { readonly problem: string }
  | {
      readonly variables: ReadonlyMap<string, string>
      /** Entries of `envFrom` with keys that cannot be names of variables: one sentence each, without values. */
      readonly skipped: readonly string[]
    }

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The kernel's limit for the arguments and environment of a program, in bytes. The code counts UTF-16 units, of which a text never has more than bytes. */
const MAX_LENGTH = 2 << 20

/**
 * The environment of a container: a default PATH, the Pod's host name as HOSTNAME, the variables of Services, those
 * of `envFrom`, then its own `env`, whose later entries may use earlier ones. It contains nothing of the node
 * agent's own environment. No message contains a value.
 * @throws RangeError when it is too long for the kernel
 */
export function containerEnvironment(
  pod: PodPlan,
  container: ContainerPlan,
  runtime: RuntimeValues,
): ContainerEnvironment {
  const variables = new Map([
    ['PATH', PATH],
    ['HOSTNAME', pod.hostname],
    ...runtime.services.map(({ name, value }) => [name, value] as const),
  ])
  const skipped: string[] = []
  let length = 0
  const set = (name: string, value: string): void => {
    variables.set(name, value)
    length += name.length + value.length
    if (length > MAX_LENGTH) throw new RangeError(`env grows beyond ${MAX_LENGTH} bytes`)
  }
  for (const source of container.environmentSources) {
    const values = runtime.valuesOf(source)
    if (values === undefined && !source.isOptional) return { problem: missing(source) }
    const entries = [...(values ?? [])].map(([key, value]) => [source.prefix + key, value] as const)
    const usable = entries.filter((entry) => isVariable(entry))
    for (const [name, value] of usable) set(name, value)
    const others = entries.filter((entry) => !isVariable(entry)).map(([name]) => quote(name))
    if (others.length > 0) skipped.push(skippedKeys(source, others))
  }
  for (const entry of container.environment) {
    const value = valueOf(entry, pod, runtime, variables)
    if (typeof value === 'object') return value
    if (value !== undefined) set(entry.name, value)
  }
  return { variables, skipped }
}

/** Undefined: an optional reference whose target does not exist. */
function valueOf(
  entry: EnvironmentEntry,
  pod: PodPlan,
  runtime: RuntimeValues,
  variables: ReadonlyMap<string, string>,
): string | undefined | { readonly problem: string } {
  if ('field' in entry) return fieldValue(entry.field, pod, runtime)
  if ('value' in entry) return expand(entry.value, variables)
  const { reference } = entry
  const values = runtime.valuesOf(reference)
  const value = values?.get(reference.key)
  if (value?.includes('\0') === true) {
    return { problem: `key ${quote(reference.key)} of ${nameOf(reference)} holds a zero byte` }
  }
  if (value !== undefined || reference.isOptional) return value
  if (values === undefined) return { problem: missing(reference) }
  return { problem: `${nameOf(reference)} has no key ${quote(reference.key)}` }
}

function isVariable([name, value]: readonly [name: string, value: string]): boolean {
  return isVariableName(name) && !value.includes('\0')
}

function missing(reference: ObjectReference): string {
  return `${nameOf(reference)} not found: create it, or mark the reference as optional`
}

function skippedKeys(source: ObjectReference, names: readonly string[]): string {
  return `keys [${names.join(', ')}] of ${nameOf(source)} were skipped: a name must be printable ASCII without "=", and a value must not hold a zero byte`
}

/** `secret "db"`. */
function nameOf({ resource, name }: ObjectReference): string {
  return `${resource === 'secrets' ? 'secret' : 'configmap'} ${quote(name)}`
}

/** The kernel's limit for one argument or variable, in bytes. The code counts UTF-16 units, of which a text never has more than bytes. */
const MAX_EXPANDED_LENGTH = 128 << 10

const REFERENCE = /\$(?:\$|\(([^()]*)\))/g

/**
 * Replaces `$(NAME)` by the variable's value, as Kubernetes does in commands
 * and environments: `$$` stands for `$`, and a reference to an unknown variable stays as it is.
 * @throws RangeError when the result is too long for the kernel: variables that use each other twice double in length
 */
export function expand(text: string, variables: ReadonlyMap<string, string>): string {
  let length = 0
  return text.replace(REFERENCE, (found: string, name: string | undefined) => {
    const value = name === undefined ? '$' : (variables.get(name) ?? found)
    length += value.length
    if (length > MAX_EXPANDED_LENGTH) {
      throw new RangeError(`${quote(text)} grows beyond ${MAX_EXPANDED_LENGTH} bytes`)
    }
    return value
  })
}
