import type { RecordedCommand, WorldRecord } from './world-record.ts'

/** Texts by file names. */
type Files = ReadonlyMap<string, string>

const INDEX = 'kernel/commands.json'
const IPVS = 'kernel/ipvs.json'

interface IndexRow extends Omit<RecordedCommand, 'stdout'> {
  readonly file: string
}

/** The files of a recorded kernel: an index, one file with the output of each command, and the tables of IPVS. */
export function filesOfWorld({ commands, ipvs }: WorldRecord): Files {
  const files = new Map<string, string>()
  const index = commands.map(({ stdout, ...command }, number): IndexRow => {
    const file = `kernel/${String(number + 1).padStart(2, '0')}-${command.program}.txt`
    files.set(file, stdout)
    return { ...command, file }
  })
  files.set(INDEX, `${JSON.stringify(index, null, 2)}\n`)
  if (ipvs !== undefined) files.set(IPVS, `${JSON.stringify(ipvs, null, 2)}\n`)
  return files
}

/** The kernel of such files. Throws an Error where a file is missing or damaged. */
export function worldOfFiles(files: Files): WorldRecord {
  const index = JSON.parse(contentOf(files, INDEX)) as readonly IndexRow[]
  const commands = index.map(({ file, ...command }) => ({
    ...command,
    stdout: contentOf(files, file),
  }))
  const ipvs = files.get(IPVS)
  return {
    commands,
    ipvs: ipvs === undefined ? undefined : (JSON.parse(ipvs) as WorldRecord['ipvs']),
  }
}

function contentOf(files: Files, name: string): string {
  const text = files.get(name)
  if (text === undefined) throw new Error(`${name} is missing`)
  return text
}
