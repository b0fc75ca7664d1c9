import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { NodeProxyError } from '../../lib/error.ts'
import type { ClientCertificate } from '../certificates/client-certificate.ts'
import type { OrchServerConfiguration } from '../config/configuration.ts'
import { writePrivateFile } from '../system/private-file.ts'

export interface Kubeconfig {
  readonly server: string
  /** The certificate authority, PEM; undefined: one that the machine already trusts. */
  readonly authority: string | undefined
  readonly user: KubeconfigUser
}

/** How the requests of a kubeconfig are authenticated. */
export interface KubeconfigUser {
  /** The name of the user in the file. */
  readonly name: string
  /** A client certificate and its key, in PEM, or a bearer token. */
  readonly credential: ClientCertificate | { readonly token: string }
}

/** A part of the program that writes kubeconfigs. A file is only overwritten by the writer that created it. */
export interface Writer {
  readonly name: string
  /** The first line of the files, by which they are recognised. */
  readonly mark: string
  /** The flag that names the file. */
  readonly flag: string
}

export const SERVER_START: Writer = {
  name: 'orch-server',
  mark: '# Written by orch-server at every start.\n',
  flag: '--write-kubeconfig',
}

export const KUBECONFIG_COMMAND: Writer = {
  name: 'this command',
  mark: '# Written by the command orch-server kubeconfig.\n',
  flag: '--output',
}

/**
 * Writes a kubeconfig for this server. A file that another program wrote may hold
 * other clusters, so it is left alone.
 * @throws NP_ORCHSERVER_KUBECONFIG, NP_ORCHSERVER_FILE
 */
export async function writeKubeconfig(
  path: string,
  config: Kubeconfig,
  writer = SERVER_START,
): Promise<void> {
  const before = await readOwnKubeconfig(path, writer)
  const text = kubeconfigText(config, writer)
  if (text !== before) await writePrivateFile(path, text)
}

/**
 * The kubeconfig that this writer wrote earlier; undefined: there is no file.
 * @throws NP_ORCHSERVER_KUBECONFIG when another writer or program wrote the file
 */
export async function readOwnKubeconfig(
  path: string,
  writer = SERVER_START,
): Promise<string | undefined> {
  const before = await textAt(path, writer)
  if (before === undefined || before.startsWith(writer.mark)) return before
  throw refused(path, `exists, and ${writer.name} did not write it`, writer)
}

/** The text of a file; undefined: it does not exist. Only regular files are read: a device or a pipe may never end. */
async function textAt(path: string, writer: Writer): Promise<string | undefined> {
  try {
    if (!(await stat(path)).isFile()) throw refused(path, 'is not a regular file', writer)
    return await readFile(path, 'utf8')
  } catch (cause) {
    if (cause instanceof NodeProxyError) throw cause
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw refused(path, `cannot be read: ${code}`, writer)
  }
}

function refused(path: string, what: string, { flag }: Writer): NodeProxyError {
  return new NodeProxyError('NP_ORCHSERVER_KUBECONFIG', `${path} ${what}`, {
    object: path,
    hint: `name another file with ${flag}, or move this one away`,
  })
}

/** The file as a text. */
export function kubeconfigText(
  { server, authority, user }: Kubeconfig,
  { mark }: Writer = SERVER_START,
): string {
  const data = authority && { 'certificate-authority-data': base64(authority) }
  const { name } = user
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'orch', cluster: { server, ...data } }],
    users: [{ name, user: credentialFields(user) }],
    contexts: [{ name: 'orch', context: { cluster: 'orch', user: name } }],
    'current-context': 'orch',
  }
  return mark + stringify(config, { lineWidth: 0 })
}

function credentialFields({ credential }: KubeconfigUser): Readonly<Record<string, string>> {
  if ('token' in credential) return { token: credential.token }
  return {
    'client-certificate-data': base64(credential.cert),
    'client-key-data': base64(credential.key),
  }
}

/** `btoa` throws for a character beyond Latin-1, which a comment of a PEM file may have. */
function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

/** The path of the kubeconfig with the address and the authority of this server. */
export function kubeconfigPath({
  kubeconfig,
  dataDir,
}: Pick<OrchServerConfiguration, 'kubeconfig' | 'dataDir'>): string {
  return kubeconfig || join(dataDir, 'admin.kubeconfig')
}
