/**
 * One run of the sandbox. Its name carries the process id of its owner, and
 * everything that it makes carries its name, so that a later run can tell what
 * a dead one left behind.
 */
export interface Run {
  /** `np-sandbox-4711`. */
  readonly name: string
  /** Scratch folder: the cluster's data, kubeconfig and logs. */
  readonly folder: string
}

const NAME = /^(np-sandbox-(\d+))(?:-|$)/

export function runName(pid: number): string {
  return `np-sandbox-${pid}`
}

/** The network namespace of one place of a run: `np-sandbox-4711-client`. */
export function namespaceOf(run: string, place: string): string {
  return `${run}-${place}`
}

/** The network namespace that the node agent makes for a pod of the namespace `default`. */
export function podNamespace(run: string, pod: string): string {
  return `${namespaceOf(run, 'pod')}-default-${pod}`
}

/** The run that a namespace or folder belongs to, and its owner; undefined for those of others. */
export function ownerOf(name: string): { readonly run: string; readonly pid: number } | undefined {
  const found = NAME.exec(name)
  if (found?.[1] === undefined) return undefined
  return { run: found[1], pid: Number(found[2]) }
}
