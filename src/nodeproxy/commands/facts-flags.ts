import { type Command, InvalidArgumentError } from 'commander'
import type { NodeFacts } from '../../doctor/evidence/node-facts.ts'
import { type IpAddress, parseIp } from '../../lib/ip.ts'
import { readNodeFacts } from '../facts/read-node-facts.ts'
import { addSocketFlags, type SocketFlags } from './socket/socket-flags.ts'

/** The flags of commands that read the facts of this node. */
export interface FactsFlags extends SocketFlags {
  readonly config?: string
  readonly connect?: boolean
  readonly client?: IpAddress
  readonly seconds: number
}

/** Adds those flags. */
export function addFactsFlags(command: Command): Command {
  return addSocketFlags(command)
    .option('--config <file>', 'the configuration of node-proxy; used when node-proxy does not run')
    .option('--connect', 'connect to each TCP backend of this node once')
    .option(
      '--seconds <number>',
      'seconds between the two reads of counters, 1 to 600',
      parseSeconds,
      1,
    )
    .option(
      '--client <address>',
      'a client outside: report what drops or refuses its packets',
      parseClient,
    )
}

/** Reads the facts that the flags request. */
export function readFacts(flags: FactsFlags, version: string): Promise<NodeFacts> {
  const { socket, config, connect = false, client, seconds } = flags
  return readNodeFacts({ version, socket, config, client, seconds, connects: connect })
}

function parseClient(text: string): IpAddress {
  const ip = parseIp(text)
  if (ip === undefined)
    throw new InvalidArgumentError(`write an IP address, not ${JSON.stringify(text)}`)
  return ip
}

function parseSeconds(text: string): number {
  if (/^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= 600) return Number(text)
  throw new InvalidArgumentError(`write a number from 1 to 600, not ${JSON.stringify(text)}`)
}
