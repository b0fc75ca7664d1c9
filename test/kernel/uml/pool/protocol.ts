import { deserialize, serialize } from 'node:v8'

/** How a worker is to be started: as vitest starts its own. */
export interface WorkerStart {
  readonly entrypoint: string
  readonly execArgv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

/** What the machine says to the kernel. Worker numbers are never used again. */
export type Order =
  | ({ readonly kind: 'start'; readonly worker: number } & WorkerStart)
  | { readonly kind: 'message'; readonly worker: number; readonly data: unknown }
  | { readonly kind: 'stop'; readonly worker: number }

/** What the kernel says: `beat` only reports that it is alive, the first one that it is ready. */
export type Report =
  | { readonly kind: 'beat' }
  | { readonly kind: 'message'; readonly worker: number; readonly data: unknown }
  | {
      readonly kind: 'output'
      readonly worker: number
      readonly to: 'stdout' | 'stderr'
      readonly text: string
    }
  | {
      readonly kind: 'exit'
      readonly worker: number
      readonly code: number | null
      readonly signal: string | null
    }

const HEADER = 4

/** A report as bytes for the channel: its length, then what `node:v8` makes of it. */
export function encodeReport(report: Report): Buffer {
  const body = serialize(report)
  const header = Buffer.alloc(HEADER)
  header.writeUInt32LE(body.length)
  return Buffer.concat([header, body])
}

/** Puts reports together again, however the channel cuts them. */
export class ReportReader {
  #chunks: Buffer[] = []
  #length = 0

  /** Takes what came, and returns the reports that are complete now. */
  take(chunk: Buffer): readonly Report[] {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    const reports: Report[] = []
    for (let wanted = this.#wanted(); this.#length >= wanted; wanted = this.#wanted()) {
      const all = Buffer.concat(this.#chunks)
      reports.push(deserialize(all.subarray(HEADER, wanted)) as Report)
      this.#chunks = [all.subarray(wanted)]
      this.#length = all.length - wanted
    }
    return reports
  }

  /** Bytes of the next report with its header, undefined until they have arrived. */
  #wanted(): number {
    if (this.#length < HEADER) return HEADER
    if ((this.#chunks[0]?.length ?? 0) < HEADER) this.#chunks = [Buffer.concat(this.#chunks)]
    return HEADER + (this.#chunks[0]?.readUInt32LE() ?? 0)
  }
}
