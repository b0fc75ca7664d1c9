import type { Backend, Entry, Frontend } from '../../../inspection/generated/inspection_pb.ts'
import type { IpAddress } from '../../../lib/ip.ts'
import { hostPort } from '../../../lib/ip.ts'

/** An entry for people, one line for each address and each backend. */
export function entryText(entry: Entry): string {
  const affinity =
    entry.affinitySeconds === 0 ? '' : `, affinity of clients for ${entry.affinitySeconds} s`
  return [
    `${entry.id}: ${entry.status}${affinity}`,
    ...entry.frontends.map((one) => `  listens  ${frontendText(one)}`),
    ...entry.backends.map((one) => `  backend  ${backendText(one)}`),
    ...(entry.backends.length === 0 ? ['  no backend'] : []),
    '',
  ].join('\n')
}

function frontendText({ kind, ip, port, pool, shortCircuit, sourceRanges, admitsAll }: Frontend) {
  const at =
    ip === 'node' ? `every node port address, port ${port}` : hostPort(ip as IpAddress, port)
  const policy = pool === 'local' ? ', only backends of this node' : ''
  const short = shortCircuit ? ' (from the cluster: all)' : ''
  const ranges = admitsAll ? '' : `, only from ${sourceRanges.join(' ') || 'nowhere'}`
  return `${kind} ${at}${policy}${short}${ranges}`
}

function backendText({ ip, port, weight, isLocal, drainingUntil }: Backend): string {
  const state =
    drainingUntil === 0n ? '' : `, drains until ${new Date(Number(drainingUntil)).toISOString()}`
  return `${hostPort(ip as IpAddress, port)}${weight === 1 ? '' : `, weight ${weight}`}${isLocal ? ', on this node' : ''}${state}`
}
