import type { OpenPacketLog } from '../../kernel/packet-log/packet-log.ts'
import type { Clock } from '../../lib/clock.ts'
import { messageOf } from '../../lib/error.ts'
import { describeDenied } from '../../policy/nftables/denied-packet.ts'
import type { PolicyModel } from '../../policy/policy-model.ts'
import { FailureLog } from '../../telemetry/failure-log.ts'
import type { Logger } from '../../telemetry/logger.ts'

const SECOND_MS = 1_000

interface DeniedLogParts {
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  /** What names the policies and Pods of a packet; undefined while nothing is enforced. */
  readonly known: () => PolicyModel | undefined
}

interface LogSource {
  readonly openPacketLog: OpenPacketLog
  /** Why rules cannot log; undefined if they can. */
  readonly whyNot: () => Promise<string | undefined>
}

/**
 * Writes a record for each packet that the rules of policies log, at most `perSecond` in a second. This limits both IP
 * families together; the limit in the rules is one for each family. Packets without a record are in the counters of the rules.
 */
export class DeniedLog {
  readonly #parts: DeniedLogParts
  readonly #failures: FailureLog
  /** Undefined while the log is not open. */
  #closeLog: (() => void) | undefined
  #perSecond = 0
  /** The second of the last packet, since the epoch. */
  #second = 0
  /** The records that were written in it. */
  #records = 0

  constructor(parts: DeniedLogParts) {
    this.#parts = parts
    this.#failures = new FailureLog(parts)
  }

  /** How many packets the rules are to log; 0 also while they cannot be read. */
  get perSecond(): number {
    return this.#perSecond
  }

  /**
   * Opens the log for at most `perSecond` records in a second, or closes it if that is 0; returns whether the property
   * `perSecond` changed. A failure is logged, and the next call tries again.
   */
  async follow(perSecond: number, source: LogSource): Promise<boolean> {
    const before = this.#perSecond
    if (perSecond === 0) this.close()
    else if (await this.#open(source)) this.#perSecond = perSecond
    return this.#perSecond !== before
  }

  close(): void {
    this.#closeLog?.()
    this.#closeLog = undefined
    this.#perSecond = 0
  }

  async #open({ openPacketLog, whyNot }: LogSource): Promise<boolean> {
    if (this.#closeLog) return true
    try {
      const why = await whyNot()
      if (why !== undefined) throw new Error(`the kernel refuses rules that log: ${why}`)
      this.#closeLog = await openPacketLog({
        onPacket: (packet) => this.#write(packet),
        onLost: () =>
          this.#warn('records of denied connections were lost, because they were not read in time'),
      })
      return true
    } catch (error) {
      this.#warn(`denied connections cannot be logged: ${messageOf(error)}; it is tried again`)
      return false
    }
  }

  #write(packet: Parameters<typeof describeDenied>[0]): void {
    const second = Math.floor(this.#parts.clock.now() / SECOND_MS)
    if (second !== this.#second) [this.#second, this.#records] = [second, 0]
    if (this.#records >= this.#perSecond) return
    const known = this.#parts.known()
    const denied = known && describeDenied(packet, known)
    if (denied === undefined) return
    this.#records++
    this.#parts.log.info(denied, 'policies denied a connection')
  }

  #warn(message: string): void {
    this.#failures.report(message, { level: 'warn', fields: {}, message, summary: () => ({}) })
  }
}
