import { toJson } from '@bufbuild/protobuf'
import type { Command } from 'commander'
import {
  type Backend,
  type Entry,
  EntrySchema,
  type Frontend,
} from '../../inspection/generated/inspection_pb.ts'
import { hostPort } from '../../lib/ip.ts'
import type { CommandContext } from './command-module.ts'
import { defineListing } from './socket-flags.ts'

/** `node-proxy entries`: what this node forwards, as it was compiled from Services and endpoints. */
export function define(command: Command, context: CommandContext): void {
  defineListing(command, context, {
    read: (client, service) => client.entries(service),
    json: (entry) => toJson(EntrySchema, entry),
    text: entryText,
  })
}

/** An entry for people, one line for each address and each backend. */
function entryText(entry: Entry): string {
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
  const at = ip === 'node' ? `every node port address, port ${port}` : hostPort(ip, port)
  const policy = pool === 'local' ? ', only backends of this node' : ''
  const short = shortCircuit ? ' (from the cluster: all)' : ''
  const ranges = admitsAll ? '' : `, only from ${sourceRanges.join(' ') || 'nowhere'}`
  return `${kind} ${at}${policy}${short}${ranges}`
}

function backendText({ ip, port, weight, isLocal, drainingUntil }: Backend): string {
  const state =
    drainingUntil === 0n ? '' : `, drains until ${new Date(Number(drainingUntil)).toISOString()}`
  return `${hostPort(ip, port)}${weight === 1 ? '' : `, weight ${weight}`}${isLocal ? ', on this node' : ''}${state}`
}
