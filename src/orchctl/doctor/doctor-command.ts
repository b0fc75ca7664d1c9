import type { Command } from 'commander'
import { diagnose } from '../../doctor/diagnose.ts'
import type { ClusterEvidence } from '../../doctor/evidence/cluster-evidence.ts'
import type { Finding } from '../../doctor/evidence/finding.ts'
import { type InspectedObject, inspectedKind } from '../../doctor/evidence/inspected-object.ts'
import { findingsText } from '../../doctor/finding-text.ts'
import { quote } from '../../lib/quote.ts'
import { runs } from '../command/command-module.ts'
import type { CommandContext } from '../command/context.ts'
import { objectPath } from '../discovery/api-resource.ts'
import { openCatalogue } from '../discovery/catalogue.ts'
import { addNodeFlags, type NodeFlags } from '../nodes/node-flags.ts'
import { jsonText } from '../output/documents.ts'
import { selectedObject } from '../selection/selected.ts'
import type { ExitCode } from '../usage/exit-code.ts'
import { usageError } from '../usage/usage-error.ts'
import { accessFindings } from './access-findings.ts'
import { concerning, diagnoseClusterNodes, unexplained } from './diagnose-cluster-nodes.ts'
import { dnsFindings } from './dns-findings.ts'
import { tokenFindings } from './inspected-token.ts'
import { ownCredential } from './own-credential.ts'
import { type ReadEvidence, readEvidence } from './read-evidence.ts'
import { withTraffic } from './read-traffic.ts'
import { reviewAudiences } from './review-audiences.ts'

const ABOUT = `
Exit code 0: nothing was found; 1: something was. What you may not read is not checked, and
is said on standard error. With --nodes the node-proxy of every node reads its own: firewalls,
kernel settings, modules, connection tracking; it must serve remote inspection.

Examples:
  orchctl doctor -A
  orchctl doctor service/web
  orchctl doctor serviceaccount/robot -o json
  orchctl doctor service/web --nodes
  orchctl doctor pod/web-1 --can list pods
  orchctl doctor --token-file /var/run/secrets/kubernetes.io/serviceaccount/token
`

interface DoctorFlags extends NodeFlags {
  readonly nodes?: boolean
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
    .option('--nodes', 'what is wrong on the nodes, too')
    .addHelpText('after', ABOUT)
  runs<DoctorFlags>(addNodeFlags(command), context, doctor)
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
  const read = await readEvidence(isWhole ? undefined : namespace, context)
  const findings = await findingsOf(read, inspected, { flags, context })
  const isTerminal = context.host.stdout.isTTY === true
  if (output === 'json') context.print(jsonText([...findings] as never, { isTerminal }))
  else context.print(findingsText(findings))
  return findings.length === 0 ? 0 : 1
}

/** With a credential that the server does not accept, nothing is read, and it is the only finding. */
async function findingsOf(
  { evidence: read, unread, isUnauthorized }: ReadEvidence,
  inspected: InspectedObject | undefined,
  given: Given,
): Promise<readonly Finding[]> {
  const { flags, context } = given
  if (isUnauthorized) return [await ownCredential(read, context)]
  for (const [kind, why] of unread) context.notice(`not checked: ${kind}: ${why}`)
  const { clusterDomain } = flags
  const evidence = (await reviewAudiences(read, context)).with({ clusterDomain })
  return await allFindings(evidence, inspected, given)
}

interface Given {
  readonly flags: DoctorFlags
  readonly context: CommandContext
}

/** What the user queries comes first; of a token alone, nothing else is shown. */
async function allFindings(
  evidence: ClusterEvidence,
  inspected: InspectedObject | undefined,
  { flags, context }: Given,
): Promise<readonly Finding[]> {
  const { can, tokenFile, dnsServer, clusterDomain } = flags
  const ofToken = tokenFile === undefined ? [] : await tokenFindings(tokenFile, evidence, context)
  if (tokenFile !== undefined && inspected === undefined) return ofToken
  const ofDns =
    dnsServer === undefined
      ? []
      : await dnsFindings({ dnsServer, clusterDomain }, evidence, context)
  const ofAccess = can === undefined ? [] : await accessFindings(can, inspected, evidence, context)
  const isOnNodes = flags.nodes === true
  const counted = isOnNodes ? await withTraffic(evidence, inspected, context, flags) : evidence
  const onNodes = isOnNodes ? await diagnoseClusterNodes(context, flags) : []
  const ofObjects = diagnose(counted, inspected)
  // A broken binding explains a refusal: it comes before.
  return [
    ...[...ofToken, ...ofDns, ...ofObjects, ...ofAccess],
    ...unexplained(ofInspected(onNodes, inspected), ofObjects),
  ]
}

function ofInspected(
  findings: readonly Finding[],
  inspected: InspectedObject | undefined,
): readonly Finding[] {
  return inspected?.kind === 'service' ? concerning(findings, inspected.key) : findings
}

/** @throws NP_ORCHCTL_USAGE for other kinds, NP_CLIENT_REFUSED when it is not there */
async function inspectedObject(
  args: readonly string[],
  context: CommandContext,
): Promise<InspectedObject> {
  const { resource, name } = await selectedObject(args, await openCatalogue(context))
  const kind = resource.group === '' ? inspectedKind(resource.kind) : undefined
  if (kind === undefined) {
    const hint = 'write service/NAME, pod/NAME or serviceaccount/NAME'
    throw usageError(`${quote(resource.kind)} cannot be checked`, hint)
  }
  const { api, namespace } = await context.session()
  await api.send({ path: objectPath(resource, namespace, name) })
  return { kind, key: `${namespace}/${name}` }
}
