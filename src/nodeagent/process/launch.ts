import { namespacePath } from '../network/namespace.ts'
import type { UserPlan } from '../plan/user-plan.ts'

/** How a program is started for a Pod. */
export interface Launch {
  /** Paths of the two programs that start it. */
  readonly nsenter: string
  readonly setpriv: string
  /** Undefined: the namespace of this process. */
  readonly namespace: string | undefined
  readonly user: UserPlan
}

/**
 * The words that run `command` in a Pod's network namespace as its user. Each
 * program replaces the one before, so what was spawned is the container's own
 * process; the kernel kills it when the node agent's process ends.
 */
export function launchWords(launch: Launch, command: readonly string[]): readonly string[] {
  const { nsenter, setpriv, namespace, user } = launch
  const enter = namespace === undefined ? [] : [nsenter, `--net=${namespacePath(namespace)}`, '--']
  return [...enter, setpriv, '--pdeathsig', 'KILL', ...identity(user), '--', ...command]
}

function identity({ uid, gid }: UserPlan): readonly string[] {
  if (uid === undefined && gid === undefined) return []
  const group = gid ?? (uid === undefined ? undefined : 0)
  return [
    ...(group === undefined ? [] : ['--regid', String(group), '--clear-groups']),
    ...(uid === undefined ? [] : ['--reuid', String(uid)]),
  ]
}
