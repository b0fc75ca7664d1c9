import { access } from 'node:fs/promises'
import { delimiter, join, resolve } from 'node:path'
import type { Document } from 'yaml'
import {
  kubeconfigValue,
  readKubeconfigDocument,
} from '../../client/connection/kubeconfig-document.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'

/** One file of the kubeconfig. */
export interface KubeconfigFile {
  /** Absolute. */
  readonly path: string
  readonly document: Document
  readonly value: JsonObject
}

/**
 * The files that exist, in the order in which their entries count.
 * @throws NP_CLIENT_KUBECONFIG
 */
export async function readKubeconfigFiles(where: Where): Promise<readonly KubeconfigFile[]> {
  const { paths, isRequired } = kubeconfigPaths(where)
  const files: KubeconfigFile[] = []
  for (const path of paths.map((one) => resolve(one))) {
    if (!isRequired && !(await exists(path))) continue
    const document = await readKubeconfigDocument(path)
    const value = kubeconfigValue(document, path) as Json
    files.push({ path, document, value: isJsonObject(value) ? value : {} })
  }
  return files
}

/**
 * The path for a new kubeconfig: the last file that is named, or that in the home folder. Undefined: there is neither.
 */
export function newKubeconfigPath(where: Where): string | undefined {
  const last = kubeconfigPaths(where).paths.at(-1)
  return last === undefined ? undefined : resolve(last)
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

interface Where {
  /** `--kubeconfig`. */
  readonly flag: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
}

/** The files of the kubeconfig, in the order in which their entries count. */
interface KubeconfigPaths {
  readonly paths: readonly string[]
  /** Whether a missing file is an error; true only for the flag. */
  readonly isRequired: boolean
}

/** `--kubeconfig`, else the files of `KUBECONFIG`, else `~/.kube/config`. */
function kubeconfigPaths({ flag, env }: Where): KubeconfigPaths {
  if (flag !== undefined && flag !== '') return { paths: [flag], isRequired: true }
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '')
  if (listed.length > 0) return { paths: [...new Set(listed)], isRequired: false }
  const home = env['HOME'] ?? ''
  return { paths: home === '' ? [] : [join(home, '.kube', 'config')], isRequired: false }
}
