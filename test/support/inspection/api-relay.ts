import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import type { Lab } from '../lab/lab.ts'
import { type LabProcess, startProcess } from '../lab/process.ts'

const NODE_PROGRAM = join(import.meta.dirname, '../../../scripts/node')
const NODE = '192.168.0.2'
const PORT = 7443

/** Relays to the orch-server of a lab, which serves only the loopback of the node, for other machines. */
export async function startApiRelay(lab: Lab): Promise<LabProcess> {
  const script = `require('node:net').createServer((one) => {
    const other = require('node:net').connect(6443, '127.0.0.1')
    one.pipe(other).pipe(one)
    for (const socket of [one, other]) socket.on('error', () => { one.destroy(); other.destroy() })
  }).listen(${PORT}, '${NODE}', () => console.log('relays'))`
  const relay = startProcess(lab.node.namespace, [NODE_PROGRAM, '-e', script])
  await relay.said('relays')
  return relay
}

/** A kubeconfig of orch-server for other machines. */
export function throughRelay(kubeconfig: string): string {
  const document = parse(kubeconfig) as { clusters: { cluster: Record<string, string> }[] }
  for (const { cluster } of document.clusters) {
    cluster['server'] = `https://${NODE}:${PORT}`
    cluster['tls-server-name'] = 'localhost'
  }
  return stringify(document)
}
