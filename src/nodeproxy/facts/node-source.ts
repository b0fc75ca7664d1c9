import type { RunCommand } from '../../explain/host/run-command.ts'
import type { WorldReaders } from '../../explain/world/world-readers.ts'
import type { Sysctl } from '../../kernel/sysctl.ts'

/** What reads the facts of this node. Each command runs once, however many parts read its output. */
export interface NodeSource {
  readonly run: RunCommand
  readonly readIpvs: WorldReaders['readIpvs']
  readonly nftTables: NonNullable<WorldReaders['nftTables']>
  readonly lookUpElement: NonNullable<WorldReaders['lookUpElement']>
  readonly sysctl: Pick<Sysctl, 'read'>
}

/** Runs equal commands once, except queries of routes, which run each time. */
export function rememberCommands(run: RunCommand): RunCommand {
  const outputs = new Map<string, ReturnType<RunCommand>>()
  return (program, args) => {
    if (args.includes('get')) return run(program, args)
    return outputs.getOrInsertComputed(JSON.stringify([program, ...args]), () => run(program, args))
  }
}
