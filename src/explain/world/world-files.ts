import type { RecordedCommand, WorldRecord } from './world-record.ts'

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
