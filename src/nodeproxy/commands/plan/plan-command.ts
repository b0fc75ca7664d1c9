import type { Command } from 'commander'
import type { ClusterEvent } from '../../../cluster/cluster-event.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { quote } from '../../../lib/quote.ts'
import { readManifests } from '../../../manifests/manifests.ts'
import type { CommandContext } from '../command/command-module.ts'
import { addOutputFlag } from '../socket/socket-flags.ts'
import { loadDaemonFlags } from './load-daemon-flags.ts'
import { deletionOf } from './manifests/cluster-changes.ts'
import { planThisNode } from './read-this-node.ts'
import { wouldChange } from './report/node-plan.ts'
import { planText } from './report/plan-text.ts'

const NOTES = `
Beside these, plan takes the flags that node-proxy itself gets: --config, --kubeconfig,
--proxy-mode, … It lists the cluster as node-proxy does, reads the kernel and writes nothing,
beside a node-proxy that runs or without one. -f knows Service, EndpointSlice and Endpoints, and
moves the endpoints of a Service with a selector as controllers will when its targetPort changes.

Examples:
  node-proxy plan --config /etc/node-proxy.yaml
  node-proxy plan --config /etc/node-proxy.yaml --proxy-mode nftables   another mode
  node-proxy plan --config new.yaml --exit-code                         in a script
  node-proxy plan --config /etc/node-proxy.yaml -f web.yaml             before kubectl apply -f web.yaml
  node-proxy plan --config /etc/node-proxy.yaml --delete service/shop/web
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

function readDeletion(text: string): ClusterEvent {
  const event = deletionOf(text)
  if (event !== undefined) return event
  const example = 'write KIND/NAMESPACE/NAME, as in service/shop/web or endpointslice/shop/web-x1'
  throw new NodeProxyError('NP_NODEPROXY_USAGE', `--delete ${quote(text)}: ${example}`)
}
