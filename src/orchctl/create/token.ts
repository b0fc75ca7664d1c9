import { type Command, Option } from 'commander'
import { parseDuration } from '../../lib/duration.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { objectPath } from '../discovery/api-resource.ts'
import { openCatalogue } from '../discovery/catalogue.ts'
import { printDocument } from '../output/documents.ts'
import { outputFormat } from '../output/output-format.ts'
import { type CommandContext, type Run, runs } from '../session/command-module.ts'
import { usageError } from '../usage/exit-code.ts'
import { repeated } from '../usage/global-flags.ts'

/** Seconds of the units that durations of Go do not have. A year has 365 days. */
const DAYS: Readonly<Record<string, number>> = { d: 86_400, w: 7 * 86_400, y: 365 * 86_400 }

interface TokenFlags {
  readonly duration?: string
  readonly audience?: readonly string[]
  readonly boundObjectKind?: string
  readonly boundObjectName?: string
  readonly boundObjectUid?: string
  readonly output?: string
}

/** `orchctl create token ACCOUNT`. */
export function defineToken(create: Command, context: CommandContext): void {
  const command = create
    .command('token')
    .description('Request a token of a ServiceAccount, and print it.')
    .argument('<account>')
    .option('--duration <duration>', 'how long it is valid: 10m, 24h, 30d, 2y')
    .addOption(repeated('--audience <name>', 'who is to accept it; repeat for more'))
    .addOption(
      new Option('--bound-object-kind <kind>', 'the token ends with this object').choices([
        'Pod',
        'Secret',
        'Node',
      ]),
    )
    .option('--bound-object-name <name>', 'the name of that object')
    .option('--bound-object-uid <uid>', 'the UID of that object')
    .option('-o, --output <format>', 'the whole TokenRequest as json|yaml')
  runs(command, context, createToken)
}

const createToken: Run<TokenFlags> = async ([account = ''], flags, context) => {
  const format = await outputFormat(flags.output)
  const body = tokenRequest(flags)
  const catalogue = await openCatalogue(context)
  const resource = await catalogue.named('serviceaccounts')
  const { api, namespace } = await context.session()
  const path = `${objectPath(resource, namespace, account)}/token`
  const answer = await api.send({ method: 'POST', path, body })
  if (format.type === 'table') context.print(`${stringAt(answer, 'status', 'token')}\n`)
  else await printDocument(format, answer, context)
  return 0
}

/** @throws NP_ORCHCTL_USAGE */
function tokenRequest(flags: TokenFlags): JsonObject {
  const { duration, audience = [] } = flags
  const seconds = duration === undefined ? undefined : parseLifetime(duration)
  if (duration !== undefined && seconds === undefined) {
    throw usageError(`--duration ${quote(duration)} is no duration`, 'write 10m, 24h, 30d or 2y')
  }
  const reference = boundObject(flags)
  return {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {
      ...(seconds === undefined ? {} : { expirationSeconds: seconds }),
      ...(audience.length === 0 ? {} : { audiences: [...audience] }),
      ...(reference === undefined ? {} : { boundObjectRef: reference }),
    },
  }
}

function boundObject(flags: TokenFlags): JsonObject | undefined {
  const { boundObjectKind: kind, boundObjectName: name, boundObjectUid: uid } = flags
  if (kind === undefined) {
    if (name === undefined && uid === undefined) return undefined
    throw usageError('--bound-object-kind is missing', 'write Pod, Secret or Node')
  }
  if (name === undefined) throw usageError('--bound-object-name is missing')
  return { apiVersion: 'v1', kind, name, ...(uid === undefined ? {} : { uid }) }
}

/** Seconds of a duration in Go's syntax, which may begin with whole days, weeks or years: `24h`, `30d`, `1y6h`. */
export function parseLifetime(text: string): number | undefined {
  const [, long = '', rest = ''] = /^((?:\d{1,5}[dwy])*)(.*)$/su.exec(text) ?? []
  const days = [...long.matchAll(/(\d+)([dwy])/g)]
  const seconds = days.reduce((sum, [, count, unit]) => {
    return sum + Number(count) * (DAYS[unit ?? ''] ?? 0)
  }, 0)
  if (rest === '') return days.length === 0 || seconds === 0 ? undefined : seconds
  const ms = parseDuration(rest)
  if (ms === undefined) return undefined
  const total = seconds + Math.floor(ms / 1_000)
  return total > 0 ? total : undefined
}
