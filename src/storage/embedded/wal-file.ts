/**
 * The write-ahead log of SQLite, as it is in its file: a header of 32 bytes, then one frame for each page that
 * a transaction changed. The checksum of each frame goes on from the one before it (sqlite.org/walformat.html).
 * A frame is intact when it has the salt of the header and its checksum is right. SQLite reads the frames up to
 * the first one that is not intact.
 */
export class WalFile {
  readonly #bytes: Buffer
  /**
   * The checksum of the header, from which that of the first frame continues; undefined: the header is damaged,
   * so SQLite reads no frame.
   */
  readonly #headerChecksum: Checksum | undefined

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#headerChecksum = bytes.length < HEADER_BYTES ? undefined : this.#checkedHeader()
  }

  get isHeaderIntact(): boolean {
    return this.#headerChecksum !== undefined
  }

  /** Distinguishes this log from the earlier ones in the same file. 8 bytes. */
  get salt(): Buffer {
    return this.#bytes.subarray(16, 24)
  }

  /** Whether there is anything behind the header, which is on the disk before the first frame is written. */
  get hasFrames(): boolean {
    return this.#bytes.subarray(HEADER_BYTES).some((byte) => byte !== 0)
  }

  /** How many frames from the beginning on are intact. */
  countIntact(): number {
    let sum = this.#headerChecksum
    let frame = 0
    for (; sum !== undefined; frame++) {
      sum = this.#checkedFrame(frame, sum)
      if (sum === undefined) return frame
    }
    return 0
  }

  /** Whether an intact frame follows the transaction that the damaged frame belongs to. */
  hasIntactAfterTransactionOf(damaged: number): boolean {
    let isBehind = false
    for (let frame = damaged; ; frame++) {
      const bytes = this.#frameAt(frame)
      if (bytes === undefined) return false
      const before = frame > 0 ? storedChecksum(this.#frameAt(frame - 1)!) : undefined
      if (isBehind && before && this.#checkedFrame(frame, before) !== undefined) return true
      isBehind ||= this.#hasSalt(bytes) && isCommit(bytes)
    }
  }

  #checkedHeader(): Checksum | undefined {
    const sum = this.#checksum(this.#bytes.subarray(0, 24), [0, 0])
    const isIntact =
      sum[0] === this.#bytes.readUInt32BE(24) && sum[1] === this.#bytes.readUInt32BE(28)
    return isIntact ? sum : undefined
  }

  /** The checksum of a frame; undefined when it is damaged or incomplete. */
  #checkedFrame(frame: number, before: Checksum): Checksum | undefined {
    const bytes = this.#frameAt(frame)
    if (bytes === undefined || !this.#hasSalt(bytes)) return undefined
    const head = this.#checksum(bytes.subarray(0, 8), before)
    const sum = this.#checksum(bytes.subarray(FRAME_HEADER_BYTES), head)
    const stored = storedChecksum(bytes)
    return stored[0] === sum[0] && stored[1] === sum[1] ? sum : undefined
  }

  #frameAt(frame: number): Buffer | undefined {
    const size = FRAME_HEADER_BYTES + this.#bytes.readUInt32BE(8)
    const start = HEADER_BYTES + frame * size
    const bytes = this.#bytes.subarray(start, start + size)
    return bytes.length < size ? undefined : bytes
  }

  #hasSalt(frame: Buffer): boolean {
    return frame.subarray(8, 16).equals(this.salt)
  }

  /** The checksum of pairs of 32-bit words, continued from `before`; the header defines the byte order. */
  #checksum(bytes: Buffer, before: Checksum): Checksum {
    const isLittleEndian = (this.#bytes.readUInt32BE(0) & 1) === 0
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    let [first, second] = before
    for (let at = 0; at < bytes.length; at += 8) {
      first = (first + view.getUint32(at, isLittleEndian) + second) >>> 0
      second = (second + view.getUint32(at + 4, isLittleEndian) + first) >>> 0
    }
    return [first, second]
  }
}

type Checksum = readonly [number, number]

const HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24

/** The last frame of a transaction holds the size of the database, which is never 0. */
function isCommit(frame: Buffer): boolean {
  return frame.readUInt32BE(4) !== 0
}

function storedChecksum(frame: Buffer): Checksum {
  return [frame.readUInt32BE(16), frame.readUInt32BE(20)]
}
