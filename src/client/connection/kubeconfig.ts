import { X509Certificate } from 'node:crypto'
import { dirname, isAbsolute, resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import type { Clock } from '../../lib/clock.ts'
import type { Connection, TlsMaterial, TlsSettings } from './connection.ts'
import {
  anonymous,
  bearer,
  type CredentialSource,
  fixedCredential,
} from './credential/credential.ts'
import { type ExecApiVersion, execCredential } from './credential/exec-credential.ts'
import { checkToken, tokenFileCredential } from './credential/token-file.ts'
import { createFieldReader, type FieldReader } from './field-reader.ts'
import { kubeconfigValue, readKubeconfigDocument } from './kubeconfig-document.ts'
import { type KubeconfigEntry, kubeconfigToken } from './kubeconfig-token.ts'
import { pemSource } from './pem-source.ts'
import { parseServerUrl } from './server-url.ts'

const EXEC_VERSIONS: readonly string[] = [
  'client.authentication.k8s.io/v1',
  'client.authentication.k8s.io/v1beta1',
]
const UNSUPPORTED = ['auth-provider', 'as', 'as-uid', 'as-groups', 'as-user-extra']

export interface KubeconfigOptions {
  /** Path of the file. */
  readonly path: string
  /** Replaces the server of the current context (`--master`). */
  readonly master: string | undefined
  readonly clock: Clock
}

/**
 * The connection of the current-context. The file is read again for each new connection and, for its token, every
 * minute: a new certificate, authority or token in it needs no restart. If it cannot be read, the last values stay in
 * use.
 * @throws NP_CLIENT_KUBECONFIG, NP_CLIENT_SERVER_URL, NP_CLIENT_CREDENTIAL
 */
export async function loadKubeconfig(options: KubeconfigOptions): Promise<Connection> {
  const file = resolve(options.path)
  const first = await readEntries(file)
  const connection = await connectionOf(first, options, file)
  if (connection.tls === undefined) return connection
  let tls = connection.tls
  const material = async (): Promise<TlsMaterial> => {
    tls = await readEntries(file)
      .then((entries) => kubeconfigTls({ ...entries, folder: dirname(file) }))
      .catch(() => tls)
    return tls.material()
  }
  return { ...connection, tls: { ...tls, material } }
}

async function readEntries(file: string): Promise<Entries> {
  return entriesOf(kubeconfigValue(await readKubeconfigDocument(file), file), file)
}

/**
 * The connection of the current-context of a kubeconfig that is already parsed, for example one merged from several
 * files. `path` is used in messages, and relative paths start in its folder.
 * @throws NP_CLIENT_KUBECONFIG, NP_CLIENT_SERVER_URL, NP_CLIENT_CREDENTIAL
 */
export async function kubeconfigConnection(
  value: unknown,
  options: KubeconfigOptions,
): Promise<Connection> {
  return connectionOf(entriesOf(value, resolve(options.path)), options)
}

/** The entries that the current-context refers to. */
interface Entries {
  readonly cluster: FieldReader
  readonly user: FieldReader | undefined
  readonly userName: string | undefined
}

function entriesOf(value: unknown, file: string): Entries {
  const config = createFieldReader(value, '', file)
  const context = namedEntry(config, 'context', config.text('current-context'))
  const cluster = namedEntry(config, 'cluster', context.text('cluster'))
  const userName = context.text('user')
  const user = userName === undefined ? undefined : namedEntry(config, 'user', userName)
  return { cluster, user, userName }
}

/** `source`: the file of the entries, if they are from a single file. */
async function connectionOf(
  { cluster, user, userName }: Entries,
  { path, master, clock }: KubeconfigOptions,
  source?: string,
): Promise<Connection> {
  const file = resolve(path)
  const server = cluster.text('server')
  if (server === undefined && master === undefined) throw cluster.refuse('server', 'is missing')
  if (cluster.has('proxy-url')) {
    throw cluster.refuse('proxy-url', 'is not supported', 'make the API server directly reachable')
  }
  const url =
    master === undefined
      ? parseServerUrl(server!, `${file}: cluster.server`)
      : parseServerUrl(master, '--master')
  const folder = dirname(file)
  const entry =
    source === undefined || userName === undefined ? undefined : { file: source, userName }
  const identity = kubeconfigUser({ user, cluster, server: url.origin, folder, entry, clock })
  const tls = await kubeconfigTls({ cluster, user, folder })
  return {
    origin: url.origin,
    basePath: url.basePath,
    tls: url.secure ? tls : undefined,
    credentials: identity,
    source: `kubeconfig ${JSON.stringify(file)}`,
  }
}

/** The entry of that name in `clusters`, `users` or `contexts`. */
function namedEntry(
  config: FieldReader,
  kind: 'cluster' | 'user' | 'context',
  name: string | undefined,
): FieldReader {
  const selector = kind === 'context' ? 'current-context' : `${kind} of the current context`
  if (name === undefined) throw config.refuse(selector, 'is missing')
  const entry = config.parts(`${kind}s`).find((candidate) => candidate.text('name') === name)
  if (entry === undefined) {
    throw config.refuse(`${kind}s`, `has no entry named ${JSON.stringify(name)} (${selector})`)
  }
  const part = entry.part(kind)
  if (part !== undefined) return part
  if (kind === 'user') return createFieldReader({}, 'user', '')
  throw entry.refuse(kind, 'is missing')
}

/** The entries of a kubeconfig that TLS needs. */
interface KubeconfigTlsInput {
  readonly cluster: FieldReader
  readonly user: FieldReader | undefined
  /** Folder of the kubeconfig. */
  readonly folder: string
}

/**
 * The TLS settings of a cluster and a user entry. Reads the files once, so that an invalid one fails the start.
 * @throws NP_CLIENT_KUBECONFIG, NP_CLIENT_CREDENTIAL
 */
async function kubeconfigTls(input: KubeconfigTlsInput): Promise<TlsSettings> {
  const { cluster, user, folder } = input
  const ca = pemSource(cluster, 'certificate-authority', folder)
  const cert = user && pemSource(user, 'client-certificate', folder)
  const key = user && pemSource(user, 'client-key', folder)
  const insecureSkipVerify = cluster.flag('insecure-skip-tls-verify')
  const material = async (): Promise<TlsMaterial> => ({
    ca: await ca(),
    cert: await cert?.(),
    key: await key?.(),
  })
  const first = await material()
  if (insecureSkipVerify && first.ca !== undefined) {
    const why = 'contradicts certificate-authority'
    throw cluster.refuse('insecure-skip-tls-verify', why, 'remove one of the two')
  }
  checkMaterial(first, cluster, user)
  const serverName = cluster.text('tls-server-name')
  return { material, serverName, insecureSkipVerify }
}

function checkMaterial(first: TlsMaterial, cluster: FieldReader, user?: FieldReader): void {
  const { ca, cert, key } = first
  if (ca !== undefined && !succeeds(() => new X509Certificate(ca))) {
    throw cluster.refuse('certificate-authority', 'is not a PEM certificate')
  }
  if (user === undefined || (cert === undefined && key === undefined)) return
  if (cert === undefined || key === undefined) {
    throw user.refuse('client-certificate', 'and client-key must come together')
  }
  if (!succeeds(() => new X509Certificate(cert))) {
    throw user.refuse('client-certificate', 'is not a PEM certificate')
  }
  if (!succeeds(() => createSecureContext({ cert, key }))) {
    throw user.refuse('client-key', 'is not the PEM key of client-certificate')
  }
}

function succeeds(attempt: () => unknown): boolean {
  try {
    attempt()
    return true
  } catch {
    return false
  }
}

/** The entries of a kubeconfig that the credential needs. */
interface KubeconfigUserInput {
  readonly user: FieldReader | undefined
  readonly cluster: FieldReader
  /** Origin of the server, for the plugin's cluster information. */
  readonly server: string
  /** Folder of the kubeconfig, to which paths are relative. */
  readonly folder: string
  /**
   * The location of the user entry, so that its token can be read and written again; undefined if it is not in a file.
   */
  readonly entry: KubeconfigEntry | undefined
  readonly clock: Clock
}

/**
 * The credential of a user entry: the first of exec, tokenFile, token, username with password; anonymous if all are
 * absent.
 * @throws NP_CLIENT_KUBECONFIG, NP_CLIENT_CREDENTIAL
 */
function kubeconfigUser(input: KubeconfigUserInput): CredentialSource {
  const { user, folder, entry, clock } = input
  if (user === undefined) return anonymous
  for (const field of UNSUPPORTED) {
    if (!user.has(field)) continue
    throw user.refuse(field, 'is not supported', 'use a token, a certificate or an exec plugin')
  }
  const exec = user.part('exec')
  if (exec !== undefined) return execUser(exec, input)
  const tokenFile = user.text('tokenFile')
  if (tokenFile !== undefined) return tokenFileCredential(resolve(folder, tokenFile), clock)
  const token = user.text('token')
  if (token === undefined) return basicUser(user)
  const checked = checkToken(token.trim(), 'user.token')
  return entry === undefined
    ? fixedCredential(bearer(checked))
    : kubeconfigToken(entry, checked, clock)
}

function basicUser(user: FieldReader): CredentialSource {
  const name = user.text('username')
  const password = user.text('password')
  if (name === undefined && password === undefined) return anonymous
  if (name === undefined || password === undefined) {
    throw user.refuse('username', 'and password must come together')
  }
  const pair = Buffer.from(`${name}:${password}`, 'utf8').toString('base64')
  return fixedCredential({ authorization: `Basic ${pair}` })
}

function execUser(exec: FieldReader, input: KubeconfigUserInput): CredentialSource {
  const apiVersion = exec.text('apiVersion') ?? ''
  if (!EXEC_VERSIONS.includes(apiVersion)) {
    throw exec.refuse('apiVersion', `must be one of ${EXEC_VERSIONS.join(', ')}`)
  }
  if (exec.text('interactiveMode') === 'Always') {
    throw exec.refuse('interactiveMode', 'is Always, but plugins get no terminal here')
  }
  const command = exec.text('command')
  if (command === undefined) throw exec.refuse('command', 'is missing')
  const cluster = exec.flag('provideClusterInfo') ? clusterInfo(input) : undefined
  const plugin = {
    apiVersion: apiVersion as ExecApiVersion,
    command: commandPath(command, input.folder),
    args: exec.texts('args'),
    env: execEnvironment(exec),
    installHint: exec.text('installHint'),
    cluster,
  }
  return execCredential(plugin, input.clock)
}

/** A command with a slash is relative to the kubeconfig; without a slash it is searched for in PATH. */
function commandPath(command: string, folder: string): string {
  return isAbsolute(command) || !command.includes('/') ? command : resolve(folder, command)
}

function execEnvironment(exec: FieldReader): Readonly<Record<string, string>> {
  const environment: Record<string, string> = {}
  for (const variable of exec.parts('env')) {
    const name = variable.text('name')
    if (name === undefined) throw variable.refuse('name', 'is missing')
    environment[name] = variable.text('value') ?? ''
  }
  return environment
}

function clusterInfo({ cluster, server }: KubeconfigUserInput): Readonly<Record<string, unknown>> {
  const info: Record<string, unknown> = { server }
  const copied = ['certificate-authority-data', 'tls-server-name'] as const
  for (const field of copied) {
    const value = cluster.text(field)
    if (value !== undefined) info[field] = value
  }
  if (cluster.flag('insecure-skip-tls-verify')) info['insecure-skip-tls-verify'] = true
  return info
}
