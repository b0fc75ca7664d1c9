import type { Command } from 'commander'
import type { CommandContext } from '../command/command-module.ts'
import { addFactsFlags, type FactsFlags, readFacts } from './facts-flags.ts'
import { factsText } from './facts-text.ts'

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
