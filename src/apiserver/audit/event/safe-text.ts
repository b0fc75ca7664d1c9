import { scrubText } from '../../../telemetry/redact.ts'

const CUT = '…[cut]'
/** How much more than what is shown is searched for tokens, which a cut would hide. */
const SEARCHED = 4

/** A text of a client at most `max` characters long, without tokens and passwords in URLs. */
export function safeText(text: string, max: number): string {
  const scrubbed = scrubText(text.slice(0, SEARCHED * max))
  const isWhole = text.length <= SEARCHED * max && scrubbed.length <= max
  return isWhole ? scrubbed : `${scrubbed.slice(0, max - CUT.length)}${CUT}`
}
