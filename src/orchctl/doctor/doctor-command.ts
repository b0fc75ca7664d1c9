import type { Command } from 'commander'
import { diagnose, type InspectedObject } from '../../doctor/diagnose.ts'
import type { Finding } from '../../doctor/evidence/finding.ts'
import { quote } from '../../lib/quote.ts'
import { runs } from '../command/command-module.ts'
import type { CommandContext } from '../command/context.ts'
import { objectPath } from '../discovery/api-resource.ts'
import { openCatalogue } from '../discovery/catalogue.ts'
import { addNodeFlags, type NodeFlags } from '../nodes/node-flags.ts'
import { jsonText } from '../output/documents.ts'
import { oneLine } from '../output/terminal-text.ts'
import { selectedObject } from '../selection/selected.ts'
import type { ExitCode } from '../usage/exit-code.ts'
import { usageError } from '../usage/usage-error.ts'
import { concerning, diagnoseClusterNodes } from './diagnose-cluster-nodes.ts'
import { readEvidence } from './read-evidence.ts'

const ABOUT = `
Exit code 0: nothing was found; 1: something was. What you may not read is not checked, and
is said on standard error. With --nodes the node-proxy of every node reads its own: firewalls,
kernel settings, modules, connection tracking; it must serve remote inspection.

Examples:
  orchctl doctor -A
  orchctl doctor service/web
  orchctl doctor serviceaccount/robot -o json
  orchctl doctor service/web --nodes
`

interface DoctorFlags extends NodeFlags {
  readonly nodes?: boolean
  readonly allNamespaces?: boolean
  readonly output?: string
}

/** `orchctl doctor`. */
export function define(command: Command, context: CommandContext): void {
  command
    .argument(
      '[object...]',
      'service/NAME, pod/NAME or serviceaccount/NAME; none: all of the namespace',
    )
    .option('-A, --all-namespaces', 'all namespaces')
    .option('-o, --output <format>', 'json')
    .option('--nodes', 'what is wrong on the nodes, too')
    .addHelpText('after', ABOUT)
  runs<DoctorFlags>(addNodeFlags(command), context, doctor)
}

async function doctor(
  args: readonly string[],
  { allNamespaces, output, nodes, ...nodeFlags }: DoctorFlags,
  context: CommandContext,
): Promise<ExitCode> {
  if (output !== undefined && output !== 'json') {
    throw usageError(`-o ${quote(output)} is no output format`, 'write json')
  }
  const { namespace } = await context.session()
  const inspected = args.length === 0 ? undefined : await inspectedObject(args, context)
  const scope = inspected === undefined && allNamespaces !== true ? namespace : undefined
  const { evidence, unread } = await readEvidence(scope, context)
  for (const [kind, why] of unread) context.notice(`not checked: ${kind}: ${why}`)
  const onNodes = nodes === true ? await diagnoseClusterNodes(context, nodeFlags) : []
  const findings = [...diagnose(evidence, inspected), ...ofInspected(onNodes, inspected)]
  const isTerminal = context.host.stdout.isTTY === true
  if (output === 'json') context.print(jsonText([...findings] as never, { isTerminal }))
  else context.print(text(findings))
  return findings.length === 0 ? 0 : 1
}

function ofInspected(
  findings: readonly Finding[],
  inspected: InspectedObject | undefined,
): readonly Finding[] {
  return inspected?.kind === 'service' ? concerning(findings, inspected.key) : findings
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
