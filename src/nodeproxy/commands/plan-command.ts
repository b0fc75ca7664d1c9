import type { Command } from 'commander'
import { NodeProxyError } from '../../lib/error.ts'
import { printable, quote } from '../../lib/quote.ts'
import { readManifests } from '../../manifests/manifests.ts'
import type { CommandContext } from './command-module.ts'
import { type Deletion, deletionOf } from './plan/cluster-changes.ts'
import { type NodePlan, type PlannedObject, wouldChange } from './plan/node-plan.ts'
import { loadDaemonFlags, planThisNode } from './plan/read-this-node.ts'
import { addOutputFlag } from './socket-flags.ts'

const SIGNS = { add: '+', change: '~', remove: '-' } as const
const COLOURS = { '+': '32', '~': '33', '-': '31' } as const
/** The most lines that are shown of one object; a chain may have thousands. */
const MAX_LINES = 20

const NOTES = `
Beside these, plan takes the flags that node-proxy itself gets: --config, --kubeconfig,
--proxy-mode, … It lists the cluster as node-proxy does, reads the kernel and writes nothing,
beside a node-proxy that runs or without one. -f knows Service, EndpointSlice, Endpoints,
NetworkPolicy and ClusterNetworkPolicy, and moves the endpoints of a Service with a selector as
controllers will when its targetPort changes. Of policies it says about which Pods of this node
other ones decide; what they admit says node-proxy explain.

Examples:
  node-proxy plan --config /etc/node-proxy.yaml
  node-proxy plan --config /etc/node-proxy.yaml --proxy-mode nftables   another mode
  node-proxy plan --config new.yaml --exit-code                         in a script
  node-proxy plan --config /etc/node-proxy.yaml -f web.yaml             before kubectl apply -f web.yaml
  node-proxy plan --config /etc/node-proxy.yaml --delete service/shop/web
  node-proxy plan --config /etc/node-proxy.yaml -f deny-all.yaml        a policy
`

interface Flags {
  readonly output: 'text' | 'json'
  readonly filename: readonly string[]
  readonly delete: readonly string[]
  readonly exitCode?: boolean
}

/** `node-proxy plan`: what a configuration, a mode or a change of the cluster would change in this kernel. */
export function define(command: Command, { host, finish }: CommandContext): void {
  const several = (value: string, before: readonly string[]) => [...before, value]
  addOutputFlag(command)
    .usage('[flags of plan] [flags of node-proxy]')
    .option(
      '-f, --filename <file>',
      'objects that would be applied, as YAML; - reads them from standard input',
      several,
      [],
    )
    .option('--delete <object>', 'KIND/NAMESPACE/NAME that would be deleted', several, [])
    .option('--exit-code', 'exit with 1 when something would change')
    .allowUnknownOption()
    .allowExcessArguments()
    .addHelpText('after', NOTES)
    .action(async (flags: Flags) => {
      const daemon = await loadDaemonFlags(command.args)
      const manifests = await readManifests(flags)
      const deletions = flags.delete.map(readDeletion)
      const { version, signal, stdout } = host
      const plan = await planThisNode({ ...daemon, version, manifests, deletions, signal })
      stdout.write(
        flags.output === 'json'
          ? `${JSON.stringify(plan, null, 2)}\n`
          : planText(plan, stdout.isTTY === true),
      )
      finish(flags.exitCode === true && wouldChange(plan) ? 1 : 0)
    })
}

function readDeletion(text: string): Deletion {
  const event = deletionOf(text)
  if (event !== undefined) return event
  const example =
    'write KIND/NAMESPACE/NAME, as in service/shop/web, endpointslice/shop/web-x1 or networkpolicy/shop/deny'
  throw new NodeProxyError('NP_NODEPROXY_USAGE', `--delete ${quote(text)}: ${example}`)
}

type Sign = keyof typeof COLOURS

/** A plan for people: what changes in all, then object by object. `coloured`: for a terminal. */
export function planText(plan: NodePlan, coloured: boolean): string {
  const mark = (sign: Sign, text: string) =>
    coloured ? `\u001b[${COLOURS[sign]}m${sign} ${text}\u001b[0m` : `${sign} ${text}`
  const sections = [
    ...plan.services.map(({ service, objects }) => section(service, objects, mark)),
    ...(plan.shared.length > 0 ? [section('of all Services, or of none', plan.shared, mark)] : []),
    isolationLines(plan.isolations, mark),
    restOf(plan),
  ]
  const lines = sections.flatMap((one) => (one.length > 0 ? ['', ...one] : []))
  return `${[...summaryOf(plan), ...lines].join('\n')}\n`
}

/** One line for each Pod and direction. */
function isolationLines(isolations: NodePlan['isolations'], mark: Mark): readonly string[] {
  const lines = isolations.map(({ direction, pod, ip, before, after }) => {
    const whose = `${direction} of ${pod} (${ip})`
    const named = (policies: readonly string[]) => policies.join(', ')
    if (after.length === 0)
      return mark('-', `${whose}: no policy any more, before ${named(before)}`)
    if (before.length === 0) return mark('+', `${whose}: ${named(after)}`)
    const isSame = named(before) === named(after)
    return mark(
      '~',
      `${whose}: ${named(after)}${isSame ? ', with other rules' : `, before ${named(before)}`}`,
    )
  })
  return lines.length === 0 ? [] : ['policies', ...lines.map((line) => `  ${line}`)]
}

type Mark = (sign: Sign, text: string) => string

function summaryOf(plan: NodePlan): readonly string[] {
  const { mode, nodeName, set, unset, services, flowCount, cleanups, isolations } = plan
  const head = `mode ${mode} on ${printable(nodeName)}: `
  if (!wouldChange(plan)) return [`${head}the kernel has everything; nothing would change`]
  const touched = count(services.length, 'Service')
  return [
    `${head}${count(set, 'object')} to set, ${unset} to remove, ${touched} touched`,
    ...(isolations.length > 0
      ? [
          `other policies about ${count(new Set(isolations.map(({ pod }) => pod)).size, 'Pod')} of this node`,
        ]
      : []),
    ...(flowCount > 0 ? [`${count(flowCount, 'conntrack entry')} to delete`] : []),
    ...cleanups.map(({ mode: other, drains, objects }) => {
      const kinds = Object.entries(objects).map(([kind, number]) => `${number} ${kind}`)
      const first = drains ? 'its connections drain, and then ' : ''
      return `when mode ${mode} is complete, mode ${other} goes: ${first}${kinds.join(', ')} are removed`
    }),
  ]
}

function section(title: string, objects: readonly PlannedObject[], mark: Mark): readonly string[] {
  return [title, ...objects.flatMap((object) => objectLines(object, mark))]
}

function objectLines(object: PlannedObject, mark: Mark): readonly string[] {
  const { action, kind, key, before, after } = object
  const title = `  ${mark(SIGNS[action], `${kind} ${printable(key)}`)}`
  const lines = [
    ...without(before, after).map((line) => `      ${mark('-', printable(line))}`),
    ...without(after, before).map((line) => `      ${mark('+', printable(line))}`),
  ]
  const more = lines.length - MAX_LINES
  return [
    title,
    ...lines.slice(0, MAX_LINES),
    ...(more > 0 ? [`      and ${more} more lines`] : []),
  ]
}

/** The lines that `others` does not have, each as many times as it is missing there. */
function without(lines: readonly string[] = [], others: readonly string[] = []): readonly string[] {
  const left = [...others]
  return lines.filter((line) => {
    const at = left.indexOf(line)
    if (at < 0) return true
    left.splice(at, 1)
    return false
  })
}

function restOf({ flows, problems, caveats, notes }: NodePlan): readonly string[] {
  return [
    ...flows.map((one) => `deleted: ${count(one.count, 'conntrack entry')} to ${one.frontend}`),
    ...problems.map(({ entry, code, message }) => `not served: ${entry}: ${message} (${code})`),
    ...caveats.map(({ code, what, remedy }) => `caveat: ${what}; ${remedy} (${code})`),
    ...notes.map((note) => `note: ${note}`),
  ].map(printable)
}

function count(number: number, what: string): string {
  const several = what.endsWith('y') ? `${what.slice(0, -1)}ies` : `${what}s`
  return `${number} ${number === 1 ? what : several}`
}
