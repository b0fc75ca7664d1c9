import type { Command } from 'commander'
import { NodeProxyError } from '../../../lib/error.ts'
import type { CommandContext } from '../command/command-module.ts'
import { addSocketFlags, type SocketFlags } from '../socket/socket-flags.ts'
import { type Explanation, explainPacket } from './explain-packet.ts'
import { explanationJson, explanationText, isWell } from './explanation-text.ts'
import { readRecordedNode, readThisNode } from './known-node.ts'
import { parseQuery, type Query, type QueryFlags } from './parse-query.ts'

const EXAMPLES = `
Examples:
  node-proxy explain 10.0.0.2 172.30.0.10:80         a Pod to the address of a Service
  node-proxy explain 10.0.0.2 shop/web:http          the same by name
  node-proxy explain 203.0.113.7 192.168.0.2:30080   a client outside to a node port
  node-proxy explain 203.0.113.7 node:30080          the same at an address that serves node ports
  node-proxy explain node shop/web                   a process of this node
  node-proxy explain 10.0.0.2:40000 shop/web         a connection that exists already
  node-proxy explain --from node7.tar.gz 10.0.0.2 shop/web   elsewhere, without root
`

/** Milliseconds between two looks with --watch. */
const WATCH_MS = 1_000

interface Flags extends SocketFlags, QueryFlags {
  readonly watch?: boolean
  readonly from?: string
}

/** `node-proxy explain`: what happens to the first packet of a connection on this node, and why. */
export function define(command: Command, { host, finish }: CommandContext): void {
  command
    .argument('<source>', 'ADDRESS[:PORT], or "node": a process of this node')
    .argument('<destination>', 'ADDRESS:PORT, node:PORT, or NAMESPACE/NAME[:PORT] of a Service')
    .option('-p, --protocol <protocol>', 'tcp, udp or sctp', 'tcp')
    .option('-i, --interface <name>', 'by which the packet comes; otherwise that of the route back')
    .option(
      '-f, --from <file>',
      'of node-proxy record: explain on the node that it was recorded on',
    )
    .option('-w, --watch', 'look again each second, and print what changes')
    .addHelpText('after', EXAMPLES)
  addSocketFlags(command).action(async (source: string, destination: string, flags: Flags) => {
    const query = parseQuery(source, destination, flags)
    if (typeof query === 'string') throw new NodeProxyError('NP_NODEPROXY_USAGE', query)
    let last = ''
    do {
      const explanation = await explainOnce(query, flags)
      const isText = flags.output === 'text'
      const text = isText ? explanationText(explanation) : explanationJson(explanation)
      if (text !== last) host.stdout.write(last === '' || !isText ? text : `\n${text}`)
      last = text
      finish(isWell(explanation) ? 0 : 1)
    } while (flags.watch === true && flags.from === undefined && (await waited(host.signal)))
  })
}

async function explainOnce(query: Query, { from, socket }: Flags): Promise<Explanation> {
  const node = await (from === undefined ? readThisNode(socket) : readRecordedNode(from))
  try {
    return await explainPacket(node, query)
  } finally {
    await node.close()
  }
}

/** Resolves after the pause: false when the command is to end. */
function waited(signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const stop = (): void => resolve(false)
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })
    setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve(!signal.aborted)
    }, WATCH_MS)
  })
}
