import type { UserPlan } from '../plan/container-plan.ts'
import { namespacePath } from '../system/namespace.ts'

const NAME = 'ORCH_POD'

/** How a program is started for a Pod. */
export interface Launch {
  /** Paths of the two programs that start it. */
  readonly nsenter: string
  readonly setpriv: string
  /** Undefined: the namespace of this process. */
  readonly namespace: string | undefined
  /** The file of the container's mount namespace; undefined: the files of this process. */
  readonly mountNamespace?: string | undefined
  readonly user: UserPlan
}

/**
 * The words that run `command` in a Pod's network namespace and with the container's mounts, as its user. Each
 * program replaces the one before (exec), so the spawned process is that of the container; the kernel kills it
 * when the node agent's process ends. Entering a mount namespace leads to its root folder, so `folder` is
 * entered after that.
 */
export function launchWords(
  launch: Launch,
  command: readonly string[],
  folder = '/',
): readonly string[] {
  const { nsenter, setpriv, namespace, mountNamespace, user } = launch
  const into = [
    ...(mountNamespace === undefined ? [] : [`--mount=${mountNamespace}`, `--wdns=${folder}`]),
    ...(namespace === undefined ? [] : [`--net=${namespacePath(namespace)}`]),
  ]
  const enter = into.length === 0 ? [] : [nsenter, ...into, '--']
  return [...enter, setpriv, '--pdeathsig', 'KILL', ...identity(user), '--', ...command]
}

function identity({ uid, gid, groups }: UserPlan): readonly string[] {
  if (uid === undefined && gid === undefined && groups.length === 0) return []
  const group = gid ?? (uid === undefined ? undefined : 0)
  const others = groups.length === 0 ? ['--clear-groups'] : ['--groups', groups.join(',')]
  return [
    ...(group === undefined ? [] : ['--regid', String(group)]),
    ...others,
    ...(uid === undefined ? [] : ['--reuid', String(uid)]),
  ]
}

/**
 * The environment variable that marks a process as one of a Pod, even outside of its namespace: child processes
 * inherit it. The prefix is that of the network namespaces and contains no slash, so that several node agents
 * on a machine distinguish their Pods.
 */
export function podMark(prefix: string, uid: string): readonly [name: string, value: string] {
  return [NAME, `${prefix}/${uid}`]
}

/** Whether an environment, as `/proc/<pid>/environ` has it, carries a mark of this prefix. */
export function hasMark(environment: string, prefix: string): boolean {
  return `\0${environment}`.includes(`\0${NAME}=${prefix}/`)
}
