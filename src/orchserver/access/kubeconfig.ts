import { readFile, stat } from 'node:fs/promises'
import { stringify } from 'yaml'
import { NodeProxyError } from '../../lib/error.ts'
import type { ClientCertificate } from '../certificates/admin-certificate.ts'
import { writePrivateFile } from '../system/private-file.ts'

export interface Kubeconfig {
  readonly server: string
  /** PEM; undefined: an authority that the machine trusts already. */
  readonly authority: string | undefined
  readonly user: KubeconfigUser
}

/** How the requests of a kubeconfig are authenticated. */
export interface KubeconfigUser {
  /** What the user is called in the file. */
  readonly name: string
  /** A client certificate and its key, in PEM, or a bearer token. */
  readonly credential: ClientCertificate | { readonly token: string }
}

/** How a file is recognised that may be written again. */
const MARK = '# Written by orch-server at every start.\n'

/**
 * Writes a kubeconfig for this server. A file that another program wrote may hold
 * other clusters, so it is left alone.
 * @throws NP_ORCHSERVER_KUBECONFIG, NP_ORCHSERVER_FILE
 */
export async function writeKubeconfig(path: string, config: Kubeconfig): Promise<void> {
  const before = await readOwnKubeconfig(path)
  const text = kubeconfigText(config)
  if (text !== before) await writePrivateFile(path, text)
}

/**
 * The kubeconfig of an earlier start; undefined where there is none.
 * @throws NP_ORCHSERVER_KUBECONFIG where another program's file stands
 */
export async function readOwnKubeconfig(path: string): Promise<string | undefined> {
  const before = await textAt(path)
  if (before === undefined || before.startsWith(MARK)) return before
  throw refused(path, 'exists, and orch-server did not write it')
}

/** Undefined where there is nothing. Of a device or a pipe the end may never come. */
async function textAt(path: string): Promise<string | undefined> {
  try {
    if (!(await stat(path)).isFile()) throw refused(path, 'is no regular file')
    return await readFile(path, 'utf8')
  } catch (cause) {
    if (cause instanceof NodeProxyError) throw cause
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw refused(path, `cannot be read: ${code}`)
  }
}

function refused(path: string, what: string): NodeProxyError {
  return new NodeProxyError('NP_ORCHSERVER_KUBECONFIG', `${path} ${what}`, {
    object: path,
    hint: 'name another file with --write-kubeconfig, or move this one away',
  })
}

function kubeconfigText({ server, authority, user }: Kubeconfig): string {
  const data = authority && { 'certificate-authority-data': btoa(authority) }
  const { name } = user
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'orch', cluster: { server, ...data } }],
    users: [{ name, user: credentialFields(user) }],
    contexts: [{ name: 'orch', context: { cluster: 'orch', user: name } }],
    'current-context': 'orch',
  }
  return MARK + stringify(config, { lineWidth: 0 })
}

function credentialFields({ credential }: KubeconfigUser): Readonly<Record<string, string>> {
  if ('token' in credential) return { token: credential.token }
  return {
    'client-certificate-data': btoa(credential.cert),
    'client-key-data': btoa(credential.key),
  }
}
