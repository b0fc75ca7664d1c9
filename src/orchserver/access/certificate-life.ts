import { formatDuration } from '../../lib/duration.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { timestamp } from '../../lib/timestamp.ts'
import type { InstalledAuthority } from '../certificates/authority.ts'

const HOUR = 3_600_000

/** Refuses a life (milliseconds) by which a certificate would outlive its authority. @throws NP_ORCHSERVER_FLAG */
export function requireLife(
  { certificate }: Pick<InstalledAuthority, 'certificate'>,
  { name, life }: { readonly name: string; readonly life: number },
  now: number,
): void {
  const end = certificate.validToDate.getTime()
  if (now + life <= end) return
  const hours = Math.floor((end - now) / HOUR)
  const renewal = 'a start of orch-server renews an authority of which less than a third is left'
  throw new NodeProxyError(
    'NP_ORCHSERVER_FLAG',
    `--valid-for=${formatDuration(life)}: the certificate of ${quote(name)} would end on ${timestamp(now + life)}, after its authority, which ends on ${timestamp(end)}`,
    { hint: hours < 1 ? renewal : `write at most --valid-for=${hours}h; ${renewal}` },
  )
}
