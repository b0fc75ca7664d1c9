import type { ServiceAccountName } from '../../auth/service-account-name.ts'
import { accountUserName } from '../../auth/service-account-name.ts'
import { TOKEN_LIFETIMES } from '../../auth/tokens/token-issuance.ts'
import { parseServerUrl } from '../../client/connection/server-url.ts'
import { parseDuration } from '../../lib/duration.ts'
import { quote } from '../../lib/quote.ts'
import { isLabel, isSubdomain } from '../../resources/names.ts'
import type { CommandValues } from '../../settings/command-line.ts'
import { flagProblem } from '../../settings/flag-problem.ts'
import type { Problem } from '../../settings/problem.ts'
import { KUBECONFIG_TABLE, type KubeconfigFlags } from './kubeconfig-table.ts'

/** The kubeconfig that an operator wants. */
export interface KubeconfigRequest {
  readonly subject: UserSubject | AccountSubject
  /** Milliseconds. */
  readonly life: number
  /** A URL with https; undefined: where the server is already known to be. */
  readonly server: string | undefined
  /** Undefined: the standard output. */
  readonly output: string | undefined
}

/** Who gets a certificate. */
export interface UserSubject {
  readonly user: string
  /** Each once. */
  readonly groups: readonly string[]
}

/** Who gets a token. */
export interface AccountSubject {
  readonly account: ServiceAccountName
  readonly audiences: readonly string[]
  /** Whether the account may renew its token. */
  readonly isRenewable: boolean
}

type Values = CommandValues<KubeconfigFlags>

const DEFAULT_LIFE = 30 * 86_400_000
const MIN_LIFE = TOKEN_LIFETIMES.least * 1000
const MAX_LIFE = TOKEN_LIFETIMES.most * 1000
const MAX_NAME_LENGTH = 256

/** What the flags of the command request, or the first thing that is wrong with them. */
export function kubeconfigRequest(values: Values): KubeconfigRequest | Problem {
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
      'goes with --service-account; certificates are not renewed',
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
    return problem('audience', audiences[0], 'goes with --service-account; certificates have none')
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
    return problem('group', groups[0], 'goes with --user; the groups of an account are fixed')
  }
  const [namespace = '', name = '', ...rest] = text.split('/')
  if (!isLabel(namespace) || !isSubdomain(name) || rest.length > 0) {
    return problem('service-account', text, 'write NAMESPACE/NAME, such as default/builder')
  }
  const wrong = audiences.find((audience) => nameFault(audience) !== undefined)
  if (wrong !== undefined) return problem('audience', wrong, nameFault(wrong) ?? '')
  return { account: { namespace, name }, audiences: [...new Set(audiences)], isRenewable }
}

/** What could mislead a reader of logs and bindings is no name, although a certificate could hold it. */
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
  const value = text === undefined ? undefined : quote(text)
  return { ...flagProblem(KUBECONFIG_TABLE, `--${flag}`, message), value }
}
