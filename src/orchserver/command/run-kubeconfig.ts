import { join } from 'node:path'
import { MASTERS } from '../../auth/user.ts'
import type { Connection } from '../../client/connection/connection.ts'
import { loadKubeconfig } from '../../client/connection/kubeconfig.ts'
import { systemClock } from '../../lib/clock.ts'
import { formatDuration } from '../../lib/duration.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { timestamp } from '../../lib/timestamp.ts'
import { asProblem, createAnswers, type ExitCode, type Terminal } from '../../settings/answers.ts'
import { parseFlags } from '../../settings/flags.ts'
import { helpText } from '../../settings/help.ts'
import {
  KUBECONFIG_COMMAND,
  type Kubeconfig,
  type KubeconfigUser,
  kubeconfigText,
  readOwnKubeconfig,
  writeKubeconfig,
} from '../access/kubeconfig.ts'
import { kubeconfigPath } from '../access/kubeconfig-path.ts'
import { userCertificate } from '../access/user-certificate.ts'
import { readAuthority } from '../certificates/authority.ts'
import type { OrchServerConfiguration } from '../config/configuration.ts'
import { SETTINGS_TABLE } from '../config/fields/settings-table.ts'
import {
  type AccountSubject,
  type KubeconfigRequest,
  kubeconfigRequest,
  type UserSubject,
} from './kubeconfig-request.ts'
import { KUBECONFIG_TABLE } from './kubeconfig-table.ts'
import { loadSettings } from './load-settings.ts'

/** `orch-server kubeconfig`, from the arguments behind it to the exit code. */
export async function runKubeconfig(
  flags: readonly string[],
  terminal: Terminal,
): Promise<ExitCode> {
  const answers = createAnswers(SETTINGS_TABLE.program, terminal)
  const parsed = parseFlags(KUBECONFIG_TABLE, flags)
  if (!parsed.ok) return answers.refuse([parsed.problem])
  if (parsed.line.commands.help) return answers.print(helpText(KUBECONFIG_TABLE))
  try {
    const request = kubeconfigRequest(parsed.line.commands)
    if ('code' in request) return answers.refuse([request])
    const loaded = await loadSettings(parsed.line)
    if (!loaded.ok) return answers.refuse(loaded.problems)
    const report = (text: string): void => void terminal.stderr.write(`orch-server: ${text}\n`)
    const text = await provide(request, { config: loaded.config, report })
    return text === undefined ? 0 : answers.print(text)
  } catch (error) {
    if (!(error instanceof NodeProxyError)) throw error
    return WRONG_LINE.has(error.code) ? answers.refuse([asProblem(error)]) : answers.fail(error)
  }
}

/** What is wrong with the flags or with the configuration, not with what they name. */
const WRONG_LINE: ReadonlySet<string> = new Set([
  SETTINGS_TABLE.codes.flag,
  SETTINGS_TABLE.codes.unreadable,
  'NP_CLIENT_SERVER_URL',
])

interface Surroundings {
  readonly config: OrchServerConfiguration
  /** Writes a line for the operator. */
  readonly report: (text: string) => void
}

/** Writes the file, or returns the text for the standard output. */
async function provide(
  request: KubeconfigRequest,
  surroundings: Surroundings,
): Promise<string | undefined> {
  const { subject, output } = request
  if (output !== undefined) await readOwnKubeconfig(output, KUBECONFIG_COMMAND)
  const kubeconfig = await ('user' in subject
    ? forUser(subject, request, surroundings)
    : forAccount(subject, request, surroundings))
  if (output === undefined) return kubeconfigText(kubeconfig, KUBECONFIG_COMMAND)
  await writeKubeconfig(output, kubeconfig, KUBECONFIG_COMMAND)
  return undefined
}

async function forUser(
  { user, groups }: UserSubject,
  { life, server }: KubeconfigRequest,
  { config, report }: Surroundings,
): Promise<Kubeconfig> {
  const issuer = await readAuthority(join(config.dataDir, 'pki'))
  const now = systemClock.now()
  const credential = await userCertificate(issuer, { user, groups, life }, now)
  const path = kubeconfigPath(config)
  const isNamed = server !== undefined && (await readOwnKubeconfig(path)) === undefined
  const kubeconfig = isNamed
    ? { server, authority: issuer.cert, user: { name: user, credential } }
    : await likeThatOf(await adminConnection(path), server, { name: user, credential })
  report(
    `the certificate of ${quote(user)} is good until ${timestamp(now + life)}, and nothing ends it before: remove the bindings of the user and of its groups to take its rights away, or replace the authority`,
  )
  if (groups.includes(MASTERS)) {
    report(
      `warning: the group ${quote(MASTERS)} may do everything, and this right cannot be taken away: the certificate has it until it ends or the authority is replaced`,
    )
  }
  return kubeconfig
}

async function forAccount(
  { account, audiences, isRenewable }: AccountSubject,
  { life, server }: KubeconfigRequest,
  { config, report }: Surroundings,
): Promise<Kubeconfig> {
  const { accountToken, renewalRole } = await import('../access/account-token.ts')
  const connection = await adminConnection(kubeconfigPath(config))
  const granted = await accountToken(
    connection,
    { account, audiences, life, isRenewable },
    systemClock,
  )
  const name = `${account.namespace}/${account.name}`
  const less =
    granted.life < life ? `, less than the ${formatDuration(life)} that were requested` : ''
  report(
    `the token of the service account ${name} is good until ${granted.end} (${formatDuration(granted.life)}${less}), or until the account is deleted`,
  )
  if (isRenewable) {
    report(
      `node-proxy and orch-dns renew it in their kubeconfig: the Role ${account.namespace}/${renewalRole(account)} permits this; delete it, or write --no-renewal, to prevent it`,
    )
  }
  return likeThatOf(connection, server, { name, credential: { token: granted.token } })
}

/** A kubeconfig that leads to the same server as a connection, or to another address of it. */
async function likeThatOf(
  { origin, basePath, tls }: Connection,
  server: string | undefined,
  user: KubeconfigUser,
): Promise<Kubeconfig> {
  const material = await tls?.material()
  return { server: server ?? origin + basePath, authority: material?.ca, user }
}

/** How the kubeconfig leads to the server that the server itself wrote. */
async function adminConnection(path: string): Promise<Connection> {
  if ((await readOwnKubeconfig(path)) === undefined) {
    throw new NodeProxyError('NP_ORCHSERVER_KUBECONFIG', `${path} does not exist`, {
      object: path,
      hint: 'start orch-server, which writes it, or check --data-dir and --write-kubeconfig',
    })
  }
  return loadKubeconfig({ path, master: undefined, clock: systemClock })
}
