import { type Command, InvalidArgumentError } from 'commander'
import type { NodeFacts, WalkFacts } from '../../doctor/evidence/node-facts.ts'
import { hostPort, type IpAddress, parseIp } from '../../lib/ip.ts'
import { readNodeFacts } from '../facts/read-node-facts.ts'
import type { CommandContext } from './command-module.ts'
import { addSocketFlags, type SocketFlags } from './socket-flags.ts'

const NOTES = `
Reads what "node-proxy doctor" and "orchctl doctor" judge: the kernel's settings, counters, interfaces and
rules, what becomes of packets to a few Services, and what node-proxy says of itself. Nothing is written.
It takes a second or more, because counters are read twice. -o json has everything.
`

/** `node-proxy facts`: evidence about this node. */
export function define(command: Command, { host, finish }: CommandContext): void {
  addFactsFlags(command)
    .addHelpText('after', NOTES)
    .action(async (flags: FactsFlags) => {
      const facts = await readFacts(flags, host.version)
      host.stdout.write(flags.output === 'json' ? `${JSON.stringify(facts)}\n` : factsText(facts))
      finish(facts.unread.length === 0 ? 0 : 1)
    })
}

/** The facts for people: what matters most, without the long lists. */
function factsText(facts: NodeFacts): string {
  const { daemon, conntrack, rules, settings, walks, unread } = facts
  const rows: readonly (readonly [string, string])[] = [
    ['node', `${facts.node}, kernel ${facts.kernel}`],
    ['mode', daemon?.mode ?? `not known: ${facts.daemonAbsent}`],
    ...(daemon === undefined
      ? []
      : [['forwards', `${daemon.services} Services, ${daemon.backends} backends`] as const]),
    [
      'rules',
      rules.map(({ program, own, others }) => `${program} ${own} own, ${others} others`).join('; '),
    ],
    [
      'conntrack',
      conntrack === undefined ? 'not there' : `${conntrack.count} of ${conntrack.max} entries`,
    ],
    ...Object.entries(settings).map(([name, value]) => ['setting', `${name} = ${value}`] as const),
    ...Object.entries(facts.modules).map(
      ([name, state]) => ['module', `${name}: ${state}`] as const,
    ),
    ...facts.proxies.map(({ proxy }) => ['proxy', proxy] as const),
    ...walks.map((walk) => ['packet', walkText(walk)] as const),
    ...unread.map(({ what, why }) => ['not read', `${what}: ${why}`] as const),
  ]
  return rows.map(([name, value]) => `${name.padEnd(9)} ${value}\n`).join('')
}

function walkText({ src, inInterface, dst, port, outcomes }: WalkFacts): string {
  const from = src === '' ? 'a process of this node' : `${src} by ${inInterface}`
  const ends = outcomes.map(({ kind, text }) => `${kind} (${text})`)
  return `${from} to ${hostPort(dst, port)}: ${ends.join(', ')}`
}

/** The flags of commands that read the facts of this node. */
export interface FactsFlags extends SocketFlags {
  readonly config?: string
  readonly connect?: boolean
  readonly client?: IpAddress
  readonly seconds: number
}

/** Adds the flags of `FactsFlags`. */
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
