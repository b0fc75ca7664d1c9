import { join } from 'node:path'
import { accountUserName, type ServiceAccountName } from '../../auth/service-account-name.ts'
import { TOKEN_LIFETIMES } from '../../auth/tokens/token-issuer.ts'
import { MASTERS } from '../../auth/user.ts'
import type { Connection } from '../../client/connection/connection.ts'
import { loadKubeconfig } from '../../client/connection/kubeconfig.ts'
import { parseServerUrl } from '../../client/connection/server-url.ts'
import { systemClock } from '../../lib/clock.ts'
import { formatDuration, parseDuration, timestamp } from '../../lib/duration.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { isLabel, isSubdomain } from '../../resources/names.ts'
import {
  asProblem,
  createAnswers,
  type ExitCode,
  type Problem,
  type Terminal,
} from '../../settings/answers.ts'
import { type CommandValues, flagProblem, parseFlags } from '../../settings/flags.ts'
import { helpText } from '../../settings/help.ts'
import { loadSettings } from '../../settings/load.ts'
import { type CommandFlags, type SettingsTable, settingsTable } from '../../settings/table.ts'
import { userCertificate } from '../access/issued-certificate.ts'
import {
  KUBECONFIG_COMMAND,
  type Kubeconfig,
  type KubeconfigUser,
  kubeconfigPath,
  kubeconfigText,
  readOwnKubeconfig,
  writeKubeconfig,
} from '../access/kubeconfig.ts'
import { readAuthority } from '../certificates/authority.ts'
import { COMMAND_FLAGS, type OrchServerConfiguration } from '../config/configuration.ts'
import { SETTINGS_TABLE } from '../config/settings-table.ts'

const KUBECONFIG_FLAGS = {
  user: {
    value: 'name',
    doc: 'Write a kubeconfig with a client certificate of this user. Works also while no server runs.',
  },
  group: {
    value: 'name',
    isRepeated: true,
    doc: 'With --user: a group of the user. Repeat the flag for more groups.',
  },
  'service-account': {
    value: 'namespace/name',
    doc: 'Write a kubeconfig with a token of this service account, which the running server issues.',
  },
  audience: {
    value: 'name',
    isRepeated: true,
    doc: 'With --service-account: an audience of the token. Repeat the flag for more. None: this server.',
  },
  'no-renewal': {
    doc: 'With --service-account: the account does not get the right to renew this token, which then ends after --valid-for. Without it, node-proxy and orch-dns renew the token in their kubeconfig in time.',
  },
  'valid-for': {
    value: 'duration',
    doc: 'How long the certificate or the token is good, from 10m on. A certificate ends no later than the authority; the server may shorten the life of a token. Default: 720h, which is 30 days.',
  },
  server: {
    value: 'url',
    doc: 'The address of the server in the new kubeconfig, https. Default: that of the kubeconfig which the server writes at its start.',
  },
  output: {
    value: 'file',
    doc: 'Where to write it, for this user only. A file that this command did not write is never replaced. Default: -, the standard output.',
  },
  config: COMMAND_FLAGS.config,
  help: COMMAND_FLAGS.help,
} as const satisfies CommandFlags

/** The settings that say where the authority and the kubeconfig of the server are. */
const SHARED: readonly string[] = ['dataDir', 'kubeconfig']

const TABLE = settingsTable<OrchServerConfiguration, typeof KUBECONFIG_FLAGS>({
  ...SETTINGS_TABLE,
  program: 'orch-server kubeconfig',
  about:
    'orch-server kubeconfig gives access to another user: it writes a kubeconfig with a client certificate of a user (--user) or a token of a service account (--service-account). What they may do is up to the bindings of their names and groups.',
  commandFlags: KUBECONFIG_FLAGS,
})

/** The flags of the command: its own, and the few settings that it reads. */
export const KUBECONFIG_TABLE: SettingsTable<OrchServerConfiguration, typeof KUBECONFIG_FLAGS> = {
  ...TABLE,
  entries: TABLE.entries.filter(([path]) => SHARED.includes(path)),
}

const DEFAULT_LIFE = 30 * 86_400_000
const MIN_LIFE = TOKEN_LIFETIMES.least * 1000
const MAX_LIFE = TOKEN_LIFETIMES.most * 1000
const MAX_NAME_LENGTH = 256

/** `orch-server kubeconfig`: from the arguments after it to the exit code. */
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
    const loaded = await loadSettings(SETTINGS_TABLE, parsed.line)
    if (!loaded.ok) return answers.refuse(loaded.problems)
    const report = (text: string): void => void terminal.stderr.write(`orch-server: ${text}\n`)
    const text = await provide(request, { config: loaded.config, report })
    return text === undefined ? 0 : answers.print(text)
  } catch (error) {
    const problem = asProblem(error)
    return WRONG_LINE.has(problem.code) ? answers.refuse([problem]) : answers.fail(error)
  }
}

/** Errors of the flags or the configuration themselves, not of the files and objects that they name. */
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
    `the certificate of ${quote(user)} is valid until ${timestamp(now + life)} and cannot be revoked: to take rights away, remove the bindings of the user and of its groups, or replace the authority`,
  )
  if (groups.includes(MASTERS)) {
    report(
      `warning: the group ${quote(MASTERS)} may do everything, and this right cannot be taken away: the certificate has it until it expires or the authority is replaced`,
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
  const less = granted.life < life ? `, less than the requested ${formatDuration(life)}` : ''
  report(
    `the token of the service account ${name} is valid until ${granted.end} (${formatDuration(granted.life)}${less}), or until the account is deleted`,
  )
  if (isRenewable) {
    report(
      `node-proxy and orch-dns renew it in their kubeconfig: the Role ${account.namespace}/${renewalRole(account)} permits this; delete it, or write --no-renewal, to prevent it`,
    )
  }
  return likeThatOf(connection, server, { name, credential: { token: granted.token } })
}

/** A kubeconfig for the server of a connection, or for another address of that server. */
async function likeThatOf(
  { origin, basePath, tls }: Connection,
  server: string | undefined,
  user: KubeconfigUser,
): Promise<Kubeconfig> {
  const material = await tls?.material()
  return { server: server ?? origin + basePath, authority: material?.ca, user }
}

/** The connection of the kubeconfig that the server wrote at its start. */
async function adminConnection(path: string): Promise<Connection> {
  if ((await readOwnKubeconfig(path)) === undefined) {
    throw new NodeProxyError('NP_ORCHSERVER_KUBECONFIG', `${path} does not exist`, {
      object: path,
      hint: 'start orch-server, which writes it, or check --data-dir and --write-kubeconfig',
    })
  }
  return loadKubeconfig({ path, master: undefined, clock: systemClock })
}

/** The kubeconfig that an operator wants. */
interface KubeconfigRequest {
  readonly subject: UserSubject | AccountSubject
  /** Milliseconds. */
  readonly life: number
  /** An https URL; undefined: the address in the kubeconfig of the server. */
  readonly server: string | undefined
  /** Undefined: the standard output. */
  readonly output: string | undefined
}

/** Who gets a certificate. */
interface UserSubject {
  readonly user: string
  /** Each once. */
  readonly groups: readonly string[]
}

/** Who gets a token. */
interface AccountSubject {
  readonly account: ServiceAccountName
  readonly audiences: readonly string[]
  /** Whether the account may renew its token. */
  readonly isRenewable: boolean
}

type Values = CommandValues<KubeconfigFlags>

/** What the flags of the command request, or the first thing that is wrong with them. */
function kubeconfigRequest(values: Values): KubeconfigRequest | Problem {
  const subject = subjectOf(values)
  if ('code' in subject) return subject
  const text = values['valid-for']
  const life = text === undefined ? DEFAULT_LIFE : parseDuration(text)
  if (life === undefined || life < MIN_LIFE || life > MAX_LIFE) {
    return problem('valid-for', text, 'write a duration such as 720h, of at least 10m')
  }
  const server = serverOf(values.server)
  if (typeof server === 'object') return server
  return { subject, life, server, output: values.output === '-' ? undefined : values.output }
}

function subjectOf(values: Values): UserSubject | AccountSubject | Problem {
  const { user, group: groups, audience: audiences } = values
  const account = values['service-account']
  const isRenewable = !values['no-renewal']
  if ((user === undefined) === (account === undefined)) {
    return problem('user', user, 'write either --user NAME or --service-account NAMESPACE/NAME')
  }
  if (account === undefined && !isRenewable) {
    return problem(
      'no-renewal',
      undefined,
      'is only for --service-account; certificates are not renewed',
    )
  }
  return user === undefined
    ? accountSubject(account ?? '', { audiences, isRenewable }, groups)
    : userSubject(user, groups, audiences)
}

function userSubject(
  user: string,
  groups: readonly string[],
  audiences: readonly string[],
): UserSubject | Problem {
  if (audiences.length > 0) {
    return problem(
      'audience',
      audiences[0],
      'is only for --service-account; certificates have no audiences',
    )
  }
  const fault = nameFault(user) ?? accountFault(user)
  if (fault !== undefined) return problem('user', user, fault)
  const wrong = groups.find((group) => nameFault(group) !== undefined)
  if (wrong !== undefined) return problem('group', wrong, nameFault(wrong) ?? '')
  return { user, groups: [...new Set(groups)] }
}

function accountSubject(
  text: string,
  { audiences, isRenewable }: Omit<AccountSubject, 'account'>,
  groups: readonly string[],
): AccountSubject | Problem {
  if (groups.length > 0) {
    return problem('group', groups[0], 'is only for --user; the groups of an account are fixed')
  }
  const [namespace = '', name = '', ...rest] = text.split('/')
  if (!isLabel(namespace) || !isSubdomain(name) || rest.length > 0) {
    return problem('service-account', text, 'write NAMESPACE/NAME, such as default/builder')
  }
  const wrong = audiences.find((audience) => nameFault(audience) !== undefined)
  if (wrong !== undefined) return problem('audience', wrong, nameFault(wrong) ?? '')
  return { account: { namespace, name }, audiences: [...new Set(audiences)], isRenewable }
}

/** Refuses names that could mislead a reader of logs and bindings, although a certificate could hold them. */
function nameFault(name: string): string | undefined {
  if (name === '') return 'write a name; it is empty'
  if (/[\p{C}\p{Zl}\p{Zp}]/u.test(name)) {
    return 'write a name without control and formatting characters'
  }
  return name.length > MAX_NAME_LENGTH
    ? `write a name of at most ${MAX_NAME_LENGTH} characters`
    : undefined
}

function accountFault(user: string): string | undefined {
  return user.startsWith(accountUserName({ namespace: '', name: '' }).slice(0, -1))
    ? 'this is the name of a service account; write --service-account NAMESPACE/NAME'
    : undefined
}

function serverOf(text: string | undefined): string | undefined | Problem {
  if (text === undefined) return undefined
  const { origin, basePath, secure } = parseServerUrl(text, '--server')
  return secure ? origin + basePath : problem('server', text, 'write a URL that begins with https')
}

function problem(flag: keyof KubeconfigFlags, text: string | undefined, message: string): Problem {
  return flagProblem(KUBECONFIG_TABLE, `--${flag}`, message, text)
}

type KubeconfigFlags = typeof KUBECONFIG_FLAGS
