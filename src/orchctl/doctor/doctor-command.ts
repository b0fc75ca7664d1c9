import type { Command } from 'commander'
import { diagnose } from '../../doctor/diagnose.ts'
import type { ClusterEvidence } from '../../doctor/evidence/cluster-evidence.ts'
import type { Finding } from '../../doctor/evidence/finding.ts'
import type { InspectedObject } from '../../doctor/evidence/inspected-object.ts'
import { quote } from '../../lib/quote.ts'
import { runs } from '../command/command-module.ts'
import type { CommandContext } from '../command/context.ts'
import { objectPath } from '../discovery/api-resource.ts'
import { openCatalogue } from '../discovery/catalogue.ts'
import { jsonText } from '../output/documents.ts'
import { oneLine } from '../output/terminal-text.ts'
import { selectedObject } from '../selection/selected.ts'
import type { ExitCode } from '../usage/exit-code.ts'
import { usageError } from '../usage/usage-error.ts'
import { accessFindings } from './access-findings.ts'
import { dnsFindings } from './dns-findings.ts'
import { tokenFindings } from './inspected-token.ts'
import { readEvidence } from './read-evidence.ts'

const ABOUT = `
Exit code 0: nothing was found; 1: something was. What you may not read is not checked, and
is said on standard error.

Examples:
  orchctl doctor -A
  orchctl doctor service/web
  orchctl doctor serviceaccount/robot -o json
  orchctl doctor pod/web-1 --can list pods
  orchctl doctor --token-file /var/run/secrets/kubernetes.io/serviceaccount/token
`

interface DoctorFlags {
  readonly allNamespaces?: boolean
  readonly output?: string
  readonly can?: readonly string[]
  readonly tokenFile?: string
  readonly dnsServer?: string
  readonly clusterDomain: string
}

/** `orchctl doctor`. */
export function define(command: Command, context: CommandContext): void {
  command
    .argument(
      '[object...]',
      'service/NAME, pod/NAME or serviceaccount/NAME; none: all of the namespace',
    )
    .option('-A, --all-namespaces', 'all namespaces')
    .option(
      '--can <words...>',
      'VERB RESOURCE [NAME]: whether the account, or that of the Pod, may',
    )
    .option('--token-file <file>', 'why this token is rejected; - is standard input')
    .option(
      '--dns-server <address>',
      'query this DNS server of the cluster, too: ADDRESS or ADDRESS:PORT',
    )
    .option('--cluster-domain <domain>', 'the domain of Services', 'cluster.local')
    .option('-o, --output <format>', 'json')
    .addHelpText('after', ABOUT)
  runs<DoctorFlags>(command, context, doctor)
}

async function doctor(
  args: readonly string[],
  flags: DoctorFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const { allNamespaces, output } = flags
  if (output !== undefined && output !== 'json') {
    throw usageError(`-o ${quote(output)} is no output format`, 'write json')
  }
  const { namespace } = await context.session()
  const inspected = args.length === 0 ? undefined : await inspectedObject(args, context)
  const isWhole = inspected !== undefined || allNamespaces === true || flags.tokenFile !== undefined
  const { evidence, unread } = await readEvidence(isWhole ? undefined : namespace, context)
  for (const [kind, why] of unread) context.notice(`not checked: ${kind}: ${why}`)
  const findings = await allFindings(evidence, inspected, { flags, context })
  const isTerminal = context.host.stdout.isTTY === true
  if (output === 'json') context.print(jsonText([...findings] as never, { isTerminal }))
  else context.print(text(findings))
  return findings.length === 0 ? 0 : 1
}

/** What the user queries comes first; of a token alone, nothing else is shown. */
async function allFindings(
  evidence: ClusterEvidence,
  inspected: InspectedObject | undefined,
  { flags, context }: { readonly flags: DoctorFlags; readonly context: CommandContext },
): Promise<readonly Finding[]> {
  const { can, tokenFile, dnsServer, clusterDomain } = flags
  const ofToken = tokenFile === undefined ? [] : await tokenFindings(tokenFile, evidence, context)
  if (tokenFile !== undefined && inspected === undefined) return ofToken
  const ofDns =
    dnsServer === undefined
      ? []
      : await dnsFindings({ dnsServer, clusterDomain }, evidence, context)
  const ofAccess = can === undefined ? [] : await accessFindings(can, inspected, evidence, context)
  // A broken binding explains a refusal: it comes before.
  return [...ofToken, ...ofDns, ...diagnose(evidence, inspected), ...ofAccess]
}

const KINDS: Readonly<Record<string, InspectedObject['kind']>> = {
  Service: 'service',
  Pod: 'pod',
  ServiceAccount: 'serviceaccount',
}

/** @throws NP_ORCHCTL_USAGE for other kinds, NP_CLIENT_REFUSED when it is not there */
async function inspectedObject(
  args: readonly string[],
  context: CommandContext,
): Promise<InspectedObject> {
  const { resource, name } = await selectedObject(args, await openCatalogue(context))
  const kind = resource.group === '' ? KINDS[resource.kind] : undefined
  if (kind === undefined) {
    const hint = 'write service/NAME, pod/NAME or serviceaccount/NAME'
    throw usageError(`${quote(resource.kind)} cannot be checked`, hint)
  }
  const { api, namespace } = await context.session()
  await api.send({ path: objectPath(resource, namespace, name) })
  return { kind, key: `${namespace}/${name}` }
}

function text(findings: readonly Finding[]): string {
  if (findings.length === 0) return 'nothing was found\n'
  return findings.map(findingText).join('\n')
}

function findingText({ symptom, object, cause, evidence, remedy, commands }: Finding): string {
  return [
    `${symptom}: ${object}: ${cause}`,
    ...evidence.map((line) => `  seen: ${line}`),
    `  remedy: ${remedy}`,
    ...commands.map((line) => `  $ ${line}`),
  ]
    .map((line) => `${oneLine(line)}\n`)
    .join('')
}
