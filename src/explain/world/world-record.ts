import type { TableSummary } from '../../kernel/nftables/list-tables.ts'
import type { CommandOutput, RunCommand } from '../host/run-command.ts'
import type { IpvsSnapshot } from '../ipvs-functions.ts'
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

/** Texts by file names. */
type Files = ReadonlyMap<string, string>

const INDEX = 'kernel/commands.json'
const IPVS = 'kernel/ipvs.json'
const TABLES = 'kernel/nft-tables.json'

interface IndexRow extends Omit<RecordedCommand, 'stdout'> {
  readonly file: string
}

/**
 * The files of a recorded kernel: an index, one file with the output of each command, the tables of IPVS, and the
 * names of nftables' tables.
 */
export function filesOfWorld({ commands, ipvs, nftTables }: WorldRecord): Files {
  const files = new Map<string, string>()
  const index = commands.map(({ stdout, ...command }, number): IndexRow => {
    const file = `kernel/${String(number + 1).padStart(2, '0')}-${command.program}.txt`
    files.set(file, stdout)
    return { ...command, file }
  })
  files.set(INDEX, `${JSON.stringify(index, null, 2)}\n`)
  if (ipvs !== undefined) files.set(IPVS, `${JSON.stringify(ipvs, null, 2)}\n`)
  if (nftTables !== undefined) files.set(TABLES, `${JSON.stringify(nftTables, null, 2)}\n`)
  return files
}

/** The recorded kernel in such files. Throws an Error if a file is missing or damaged. */
export function worldOfFiles(files: Files): WorldRecord {
  const index = JSON.parse(contentOf(files, INDEX)) as readonly IndexRow[]
  const commands = index.map(({ file, ...command }) => ({
    ...command,
    stdout: contentOf(files, file),
  }))
  const [ipvs, tables] = [files.get(IPVS), files.get(TABLES)]
  return {
    commands,
    ...(tables === undefined
      ? {}
      : { nftTables: JSON.parse(tables) as NonNullable<WorldRecord['nftTables']> }),
    ipvs: ipvs === undefined ? undefined : (JSON.parse(ipvs) as WorldRecord['ipvs']),
  }
}

function contentOf(files: Files, name: string): string {
  const text = files.get(name)
  if (text === undefined) throw new Error(`${name} is missing`)
  return text
}
