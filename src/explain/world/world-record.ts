import type { TableSummary } from '../../kernel/nftables/list-tables.ts'
import type { CommandOutput, RunCommand } from '../host/run-command.ts'
import type { IpvsSnapshot } from '../ipvs-snapshot.ts'
import { readRoutes, tableRouting } from '../table-routing.ts'
import type { WalkWorld } from '../walk/walk-packet.ts'
import { readWorld } from './read-world.ts'
import type { WorldReaders } from './world-readers.ts'

/** A command with its output. */
export interface RecordedCommand extends CommandOutput {
  readonly program: string
  readonly args: readonly string[]
}

/** Everything that affects packets, as read from one kernel. */
export interface WorldRecord {
  readonly commands: readonly RecordedCommand[]
  readonly ipvs: IpvsSnapshot | undefined
  /** Absent if the names of tables were not known, so that nft listed all. */
  readonly nftTables?: readonly TableSummary[]
}

/** Reads a world in order to explain it on another machine. Throws NP_EXPLAIN_READ. */
export async function recordWorld(readers: WorldReaders): Promise<WorldRecord> {
  const commands: RecordedCommand[] = []
  const run: RunCommand = async (program, args) => {
    const output = await readers.run(program, args)
    const { status, stdout, stderr } = output
    commands.push({ program, args, status, stdout, stderr })
    return output
  }
  const ipvs = await readers.readIpvs()
  const tables = await readers.nftTables?.()
  const known = tables === undefined ? {} : { nftTables: tables }
  await readWorld(readersOf(run, { ipvs, ...known }))
  await readRoutes(run)
  return { commands, ipvs, ...known }
}

/** The world of a record; routes are looked up in its tables. Throws NP_EXPLAIN_READ if a listing is missing. */
export async function recordedWorld(record: WorldRecord): Promise<WalkWorld> {
  const { commands } = record
  const outputs = new Map(commands.map((one) => [keyOf(one.program, one.args), one]))
  const run: RunCommand = async (program, args) =>
    outputs.get(keyOf(program, args)) ?? { status: 1, stdout: '', stderr: 'it was not recorded' }
  const world = await readWorld(readersOf(run, record))
  return { ...world, routing: tableRouting(await readRoutes(run), world.facts) }
}

function keyOf(program: string, args: readonly string[]): string {
  return JSON.stringify([program, ...args])
}

function readersOf(
  run: RunCommand,
  { ipvs, nftTables }: Omit<WorldRecord, 'commands'>,
): WorldReaders {
  return {
    run,
    readIpvs: async () => ipvs,
    ...(nftTables === undefined ? {} : { nftTables: async () => nftTables }),
  }
}
