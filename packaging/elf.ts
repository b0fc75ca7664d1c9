/** What a program or library says of itself to the dynamic linker, see elf(5). */
export interface Linking {
  /** The path of the linker; libraries have none. */
  readonly interpreter: string | undefined
  /** Names of the libraries that it needs. */
  readonly needed: readonly string[]
}

const MAGIC = Buffer.from('\x7fELF', 'latin1')
const CLASS = 4
const CLASS_64 = 2
const DATA = 5
const LITTLE_ENDIAN = 1

/** Offsets in Elf64_Ehdr. */
const HEADER = {
  programs: 0x20,
  sections: 0x28,
  programSize: 0x36,
  programCount: 0x38,
  sectionCount: 0x3c,
  sectionNames: 0x3e,
} as const
/** Offsets in Elf64_Phdr. */
const PROGRAM = { type: 0, offset: 0x08, address: 0x10, size: 0x20 } as const
const TYPE = { load: 1, dynamic: 2, interpreter: 3 } as const
/** Elf64_Dyn: a tag and a value. */
const DYNAMIC_BYTES = 16
const TAG = { needed: 1, strings: 5 } as const

interface Segment {
  readonly type: number
  readonly offset: number
  readonly address: number
  readonly size: number
}

/** Undefined for a file of another kind. Rejects what is no 64-bit little-endian ELF. */
export function readLinking(file: Buffer): Linking | undefined {
  if (!isElf(file)) return undefined
  const segments = segmentsOf(file)
  const interpreter = segments.find(({ type }) => type === TYPE.interpreter)
  const dynamic = segments.find(({ type }) => type === TYPE.dynamic)
  return {
    interpreter: interpreter && textAt(file, interpreter.offset),
    needed: dynamic === undefined ? [] : neededBy(file, dynamic, segments),
  }
}

/**
 * A program as the kernel and the dynamic linker read it: its segments, for a processor of any kind. Symbols, debugging
 * information and the list of sections, which come after those, are left out. Rejects what is no such program.
 */
export function withoutSymbols(file: Buffer): Buffer {
  if (!isElf(file)) throw new Error('the file is no program')
  const end = Math.max(...segmentsOf(file).map(({ offset, size }) => offset + size))
  if (end > file.length) throw new Error('the program is not complete')
  const kept = Buffer.from(file.subarray(0, end))
  kept.writeBigUInt64LE(0n, HEADER.sections)
  kept.writeUInt16LE(0, HEADER.sectionCount)
  kept.writeUInt16LE(0, HEADER.sectionNames)
  return kept
}

function isElf(file: Buffer): boolean {
  if (!file.subarray(0, MAGIC.length).equals(MAGIC)) return false
  if (file[CLASS] === CLASS_64 && file[DATA] === LITTLE_ENDIAN) return true
  throw new Error('the file is not for a 64-bit little-endian processor')
}

function segmentsOf(file: Buffer): readonly Segment[] {
  const [first, size] = [longAt(file, HEADER.programs), file.readUInt16LE(HEADER.programSize)]
  const count = file.readUInt16LE(HEADER.programCount)
  return Array.from({ length: count }, (_, index) => {
    const at = first + index * size
    return {
      type: file.readUInt32LE(at + PROGRAM.type),
      offset: longAt(file, at + PROGRAM.offset),
      address: longAt(file, at + PROGRAM.address),
      size: longAt(file, at + PROGRAM.size),
    }
  })
}

function neededBy(file: Buffer, dynamic: Segment, segments: readonly Segment[]): readonly string[] {
  const entries = Array.from({ length: dynamic.size / DYNAMIC_BYTES }, (_, index) => {
    const at = dynamic.offset + index * DYNAMIC_BYTES
    return { tag: longAt(file, at), value: longAt(file, at + 8) }
  })
  const strings = entries.find(({ tag }) => tag === TAG.strings)?.value ?? 0
  const within = segments.find(
    ({ type, address, size }) =>
      type === TYPE.load && strings >= address && strings < address + size,
  )
  const table = strings - (within?.address ?? 0) + (within?.offset ?? 0)
  return entries
    .filter(({ tag }) => tag === TAG.needed)
    .map(({ value }) => textAt(file, table + value))
}

function longAt(file: Buffer, at: number): number {
  return Number(file.readBigUInt64LE(at))
}

function textAt(file: Buffer, at: number): string {
  return file.toString('latin1', at, file.indexOf(0, at))
}
