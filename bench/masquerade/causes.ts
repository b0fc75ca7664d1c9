import type { CauseCounts, Causes, SourcePorts } from '../report/masquerade/results.ts'
import type { Segment } from './segment.ts'

/** Milliseconds after which a timer must have sent the SYN of a connection again; the first timer takes a second. */
const WAIT_MS = 900

/** What an endpoint did about a SYN; without an entry, the SYN never reached one. */
type Answer = 'timeWait' | 'unanswered' | 'answered'

/** Finds out why SYNs were sent again, from the SYNs of the connecting side and the reactions of the endpoints. */
export class SynRecord {
  readonly #sent = new Map<string, number[]>()
  readonly #answers = new Map<string, Answer>()
  /** The last SYN between two addresses and ports. */
  readonly #last = new Map<string, string>()
  readonly #ports = new Set<number>()

  /** Records a segment on the device of the connecting side. */
  atSender({ kind, from, to, sequence, stamp }: Segment): void {
    if (kind !== 'syn') return
    this.#ports.add(Number(from.split(':')[1]))
    const connection = `${from} ${to} ${sequence}`
    const stamps = this.#sent.get(connection)
    if (stamps === undefined) this.#sent.set(connection, [stamp])
    else stamps.push(stamp)
  }

  /**
   * Records a segment on the device of the endpoints. Linux answers a SYN for a TIME_WAIT with the same addresses and
   * ports with a bare acknowledgement if it does not accept the SYN.
   */
  atEndpoints({ kind, from, to, sequence, stamp }: Segment): void {
    if (kind === 'syn') {
      const syn = nameOf(sequence, stamp)
      this.#last.set(`${from} ${to}`, syn)
      this.#answers.set(syn, 'unanswered')
      return
    }
    const syn = this.#last.get(`${to} ${from}`)
    if (syn === undefined || this.#answers.get(syn) !== 'unanswered') return
    this.#answers.set(syn, kind === 'ack' ? 'timeWait' : 'answered')
  }

  /** Source ports of the connecting side. */
  get ports(): SourcePorts {
    const ports = [...this.#ports].toSorted((a, b) => a - b)
    return { distinct: ports.length, least: ports[0] ?? 0, most: ports.at(-1) ?? 0 }
  }

  /**
   * The cause of a repeated SYN is what happened to the one before. The cause of a wait is that of its longest part.
   */
  get causes(): Causes {
    const causes = {
      timeWait: noCount(),
      unanswered: noCount(),
      answered: noCount(),
      lost: noCount(),
    }
    for (const [connection, stamps] of this.#sent) {
      const sequence = Number(connection.split(' ')[2])
      let longest: readonly [ms: number, cause: keyof Causes] = [0, 'lost']
      for (const [n, stamp] of stamps.slice(1).entries()) {
        const before = stamps[n] ?? 0
        const cause = this.#answers.get(nameOf(sequence, before)) ?? 'lost'
        causes[cause].repeatedSyns++
        const ms = between(before, stamp)
        if (ms >= longest[0]) longest = [ms, cause]
      }
      if (between(stamps[0] ?? 0, stamps.at(-1) ?? 0) >= WAIT_MS) causes[longest[1]].waits++
    }
    return causes
  }
}

function noCount(): { -readonly [Name in keyof CauseCounts]: number } {
  return { repeatedSyns: 0, waits: 0 }
}

function nameOf(sequence: number, stamp: number): string {
  return `${sequence} ${stamp}`
}

/** The difference of two time stamps, which have 32 bits. */
function between(before: number, after: number): number {
  return (after - before) >>> 0
}
