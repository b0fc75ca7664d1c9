import { isAbsolute, resolve } from 'node:path'
import type { Clock } from '../../lib/clock.ts'
import type { CredentialSource } from './credential/credential.ts'
import { anonymous, bearer, fixedCredential } from './credential/credential.ts'
import type { ExecApiVersion } from './credential/exec-credential.ts'
import { execCredential } from './credential/exec-credential.ts'
import { checkToken, tokenFileCredential } from './credential/token-file.ts'
import type { FieldReader } from './field-reader.ts'
import { type KubeconfigEntry, kubeconfigToken } from './kubeconfig-token.ts'

/** The entries of a kubeconfig that the credential needs. */
export interface KubeconfigUserInput {
  readonly user: FieldReader | undefined
  readonly cluster: FieldReader
  /** Origin of the server, for the plugin's cluster information. */
  readonly server: string
  /** Folder of the kubeconfig, to which paths are relative. */
  readonly folder: string
  /** Where the user entry is, so that its token can be read and written again; undefined: in no file. */
  readonly entry: KubeconfigEntry | undefined
  readonly clock: Clock
}

const EXEC_VERSIONS: readonly string[] = [
  'client.authentication.k8s.io/v1',
  'client.authentication.k8s.io/v1beta1',
]
const UNSUPPORTED = ['auth-provider', 'as', 'as-uid', 'as-groups', 'as-user-extra']

/**
 * The credential of a user entry: the first of exec, tokenFile, token, username with password; anonymous without them.
 * @throws NP_CLIENT_KUBECONFIG, NP_CLIENT_CREDENTIAL
 */
export function kubeconfigUser(input: KubeconfigUserInput): CredentialSource {
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
    throw exec.refuse('interactiveMode', 'is Always, but the daemon has no terminal')
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

/** A command with a slash is relative to the kubeconfig; without one it is found in PATH. */
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
