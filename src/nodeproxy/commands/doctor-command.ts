import type { Command } from 'commander'
import { diagnoseNodes, findingsText } from '../../doctor/diagnose.ts'
import type { CommandContext } from './command-module.ts'
import { addFactsFlags, type FactsFlags, readFacts } from './facts-command.ts'

const NOTES = `
Exit code 1: something was found. It needs no API server, and finds causes on this node alone; those in the
objects of the cluster "orchctl doctor" names. Only --connect sends packets.

Examples:
  node-proxy doctor
  node-proxy doctor --connect
  node-proxy doctor --client 203.0.113.7
`

/** `node-proxy doctor`: why Services do not work on this node. */
export function define(command: Command, { host, finish }: CommandContext): void {
  addFactsFlags(command)
    .addHelpText('after', NOTES)
    .action(async (flags: FactsFlags) => {
      const facts = await readFacts(flags, host.version)
      for (const { what, why } of facts.unread) {
        host.stderr.write(`node-proxy: not checked: ${what}: ${why}\n`)
      }
      const findings = diagnoseNodes(new Map([[facts.node, facts]]))
      host.stdout.write(
        flags.output === 'json' ? `${JSON.stringify(findings, null, 2)}\n` : findingsText(findings),
      )
      finish(findings.length === 0 ? 0 : 1)
    })
}
