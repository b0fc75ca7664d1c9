import type { Command } from 'commander'
import type { NodeFacts, WalkFacts } from '../../doctor/evidence/node-facts.ts'
import { hostPort } from '../../lib/ip.ts'
import type { CommandContext } from './command/command-module.ts'
import { addFactsFlags, type FactsFlags, readFacts } from './facts-flags.ts'

const NOTES = `
Reads what "node-proxy doctor" and "orchctl doctor" judge: the kernel's settings, counters, interfaces and
rules, what becomes of packets to a few Services, and what node-proxy says of itself. Nothing is written.
It takes a second and more, because counters are read twice. -o json has everything.
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
