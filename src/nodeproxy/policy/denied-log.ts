import type { OpenPacketLog } from '../../kernel/packet-log/packet-log.ts'
import type { Clock } from '../../lib/clock.ts'
import { messageOf } from '../../lib/error.ts'
import { describeDenied } from '../../policy/nftables/denied-packet.ts'
import type { PolicyModel } from '../../policy/policy-model.ts'
import { FailureLog } from '../../telemetry/failure-log.ts'
import type { Logger } from '../../telemetry/logger.ts'

const SECOND_MS = 1_000

/** Where denied packets come from, and what is known of them. */
interface DeniedLogParts {
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  /** Undefined while nothing is enforced. */
  readonly known: () => PolicyModel | undefined
}

/** What a log is opened with. */
interface LogSource {
  readonly openPacketLog: OpenPacketLog
  /** Why rules cannot log; undefined if they can. */
  readonly whyNot: () => Promise<string | undefined>
}

/**
 * Writes a record for each packet that the rules of policies log, at most so many in a second: the kernel limits each
 * family alone. What is beyond is counted by the rules alone, as every denied packet.
 */
export class DeniedLog {
  readonly #parts: DeniedLogParts
  readonly #failures: FailureLog
  /** Undefined while the log is not open. */
  #closeLog: (() => void) | undefined
  #perSecond = 0
  /** The second of the last record, since the epoch, and the records in it. */
  #second = 0
  #records = 0

  constructor(parts: DeniedLogParts) {
    this.#parts = parts
    this.#failures = new FailureLog(parts)
  }

  /** How many packets the rules are to log; 0 also while they cannot be read. */
  get perSecond(): number {
    return this.#perSecond
  }

  /** Opens or closes the log, and returns whether `perSecond` changed. What fails is logged, and tried by the next call. */
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
