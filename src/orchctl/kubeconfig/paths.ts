import { delimiter, join } from 'node:path'

export interface Where {
  /** `--kubeconfig`. */
  readonly flag: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
}

/** The files of the kubeconfig, in the order in which their entries count. */
export interface KubeconfigPaths {
  readonly paths: readonly string[]
  /** Whether a missing file is an error: true for the flag alone. */
  readonly isRequired: boolean
}

/** `--kubeconfig`, else the files of `KUBECONFIG`, else `~/.kube/config`. */
export function kubeconfigPaths({ flag, env }: Where): KubeconfigPaths {
  if (flag !== undefined && flag !== '') return { paths: [flag], isRequired: true }
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '')
  if (listed.length > 0) return { paths: [...new Set(listed)], isRequired: false }
  const home = env['HOME'] ?? ''
  return { paths: home === '' ? [] : [join(home, '.kube', 'config')], isRequired: false }
}
