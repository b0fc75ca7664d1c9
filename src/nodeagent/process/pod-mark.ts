const NAME = 'ORCH_POD'

/**
 * The variable by which a process is known as one of a Pod's, wherever it went:
 * children inherit it. The prefix is that of the namespaces and holds no slash,
 * so that node agents side by side distinguish their Pods.
 */
export function podMark(prefix: string, uid: string): readonly [name: string, value: string] {
  return [NAME, `${prefix}/${uid}`]
}

/** Whether an environment, as `/proc/<pid>/environ` has it, carries a mark of this prefix. */
export function hasMark(environment: string, prefix: string): boolean {
  return `\0${environment}`.includes(`\0${NAME}=${prefix}/`)
}
